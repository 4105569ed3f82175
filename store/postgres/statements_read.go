package postgres

import (
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// readStatements are the statements of the reads. For LIMIT 1 and OFFSET 0 in subqueries see
// loadStatements. Bodies are measured before they are read: rows store their lengths.
var readStatements = read.Statements{
	Same: read.SameStatements, Counts: countStatements,

	RunPayload: `SELECT r.run_id, r.input, r.checkpoint FROM runs AS r WHERE r.run_id = $1`,

	RequestsOfRuns: expand(`
SELECT q.*
FROM unnest($1::text[]) AS k (run_id)
CROSS JOIN LATERAL (SELECT * FROM runs AS one WHERE one.run_id = k.run_id LIMIT 1) AS r
{requests q of r}
ORDER BY q.session_id, q.run_id, q.number`),

	RunOutputs: newest(`
		SELECT e.event_id, e.body
		FROM runs AS r
		CROSS JOIN LATERAL (
			SELECT one.event_id, one.body FROM events AS one
			WHERE one.session_id = r.session_id AND one.type = 'output'
				AND one.event_id BETWEEN r.first_event_id AND r.last_event_id AND one.run_id = r.run_id
			ORDER BY one.event_id DESC LIMIT 101
		) AS e
		WHERE r.run_id = $1 AND r.output_count > 0`),

	// One pass over each queue.
	QueuePlaces: `
SELECT place.run_id, place.ahead
FROM (
	SELECT r.run_id, row_number() OVER (PARTITION BY r.session_id ORDER BY r.first_event_id) - 1 AS ahead
	FROM runs AS r
	WHERE r.session_id = ANY($1::text[]) AND r.finished_at_ms IS NULL AND r.status = 'queued'
) AS place
WHERE place.run_id = ANY($2::text[])`,

	SettledAfter: expand(`
SELECT q.*
FROM (
	SELECT *, sum(` + columns.Requests.Size() + `) OVER w AS bytes, row_number() OVER w AS place
	FROM (
		SELECT n.*
		FROM runs AS r
		CROSS JOIN LATERAL (
			SELECT * FROM requests AS one
			WHERE one.session_id = r.session_id AND one.run_id = r.run_id
				AND coalesce(one.settled_number, 9223372036854775807) > $2::bigint AND one.settled_number IS NOT NULL
			ORDER BY coalesce(one.settled_number, 9223372036854775807) LIMIT $3::bigint
		) AS n
		WHERE r.run_id = $1
	) AS q
	WINDOW w AS (ORDER BY q.settled_number)
) AS q
WHERE q.place = 1 OR q.bytes <= $4::bigint
ORDER BY q.settled_number`),

	ActiveRun: expand(`
SELECT r.*, 0::bigint
FROM (SELECT s.session_id, s.active_run_id AS run_id FROM sessions AS s WHERE s.session_id = $1) AS k
{run r of k}`),

	ActiveRunRequests: expand(`
SELECT q.*
FROM (SELECT s.session_id, s.active_run_id AS run_id FROM sessions AS s WHERE s.session_id = $1) AS k
{run r of k}
{requests q of r}
ORDER BY q.number`),

	SessionOutputs: newest(`
		SELECT e.event_id, e.body FROM events AS e
		WHERE e.session_id = $1 AND e.type = 'output'
		ORDER BY e.event_id DESC LIMIT 101`),

	// From the open requests to their runs: the queue of the session may be long.
	SessionBesides: expand(`
SELECT q.*, r.agent_id, r.kind, r.requester, NULL::text, ''
FROM requests AS q
{run r of q}
WHERE r.kind IN ('parent_clarification', 'call') AND r.finished_at_ms IS NULL
	AND q.kind IN ('approval', 'question') AND q.session_id = $1 AND q.settled_number IS NULL
ORDER BY q.run_id, q.request_id
LIMIT $2::bigint`),

	SessionEventsWithin: within(`
		SELECT * FROM events AS one
		WHERE one.session_id = $1 AND one.event_id > $2::bigint
		ORDER BY one.event_id LIMIT $3::bigint`),

	SessionRequestEventsWithin: within(`
		SELECT * FROM events AS one
		WHERE one.session_id = $1 AND one.event_id > $2::bigint
			AND {one is about a request}
		ORDER BY one.event_id LIMIT $3::bigint`),

	// Along the index of the session's events about requests.
	RunRequestEventsWithin: within(`
		SELECT v.*
		FROM runs AS r
		CROSS JOIN LATERAL (
			SELECT * FROM events AS one
			WHERE one.session_id = r.session_id AND one.run_id = r.run_id
				AND one.event_id > $2::bigint AND one.event_id BETWEEN r.first_event_id AND r.last_event_id
				AND {one is about a request}
			ORDER BY one.event_id LIMIT $3::bigint
		) AS v
		WHERE r.run_id = $1`),

	// Along the session's log between the run's first and last event.
	RunEventsWithin: within(`
		SELECT v.*
		FROM runs AS r
		JOIN events AS v ON v.session_id = r.session_id AND v.run_id = r.run_id
			AND v.event_id >= r.first_event_id AND v.event_id <= r.last_event_id AND v.event_id > $2::bigint
		WHERE r.run_id = $1
		ORDER BY v.event_id LIMIT $3::bigint`),

	RunOutputsWithin: within(`
		SELECT e.*
		FROM runs AS r
		CROSS JOIN LATERAL (
			SELECT * FROM events AS one
			WHERE one.session_id = r.session_id AND one.type = 'output' AND one.run_id = r.run_id
				AND one.event_id > $2::bigint AND one.event_id BETWEEN r.first_event_id AND r.last_event_id
			ORDER BY one.event_id LIMIT $3::bigint
		) AS e
		WHERE r.run_id = $1 AND r.output_count > 0`),

	RequestByHandle: expand(`
SELECT q.*, r.agent_id, r.kind, r.requester, (SELECT s.about FROM sessions AS s WHERE s.session_id = q.session_id),
	(SELECT coalesce(s.parent_session_id, '') FROM sessions AS s WHERE s.session_id = q.session_id)
FROM requests AS q
{run r of q}
WHERE q.handle = $1`),

	StandingRules: expand(`
SELECT l.*
FROM rules AS l
WHERE l.session_id = $1 AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
	AND (l.expires_at_ms IS NULL OR l.expires_at_ms > {now})
	AND (l.max_uses IS NULL OR l.uses < l.max_uses)
LIMIT $2::bigint`),

	ChangedRules: expand(`
SELECT l.*
FROM (
	SELECT DISTINCT c.rule_id
	FROM (SELECT rule_id FROM rule_changes WHERE version > $1 ORDER BY version, rule_id LIMIT $2::bigint) AS c
) AS k
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.rule_id = k.rule_id LIMIT 1
) AS l
WHERE l.session_id = '*' AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
	AND (l.expires_at_ms IS NULL OR l.expires_at_ms > {now})`),

	RulesFor: expand(`
SELECT l.*
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.revoked_at_ms IS NULL OFFSET 0
) AS l
ORDER BY l.created_at_ms, l.rule_id
LIMIT $2::bigint`),

	RuleSizesFor: `
SELECT ` + columns.Rules.Size() + `
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.revoked_at_ms IS NULL OFFSET 0
) AS l
ORDER BY l.created_at_ms, l.rule_id
LIMIT $2::bigint`,

	Now: expand(`SELECT {now}`),

	// A run that continues under a lease is claimable when the lease ends; a waiting one has an
	// attached worker.
	LeasedRuns: expand(`
SELECT r.*, 0::bigint
FROM runs AS r
WHERE r.lease_expires_at_ms IS NOT NULL AND r.run_id IN (
	SELECT c.run_id FROM claimable_runs AS c
	WHERE c.claimable_at_ms > {now}
	UNION ALL
	SELECT held.run_id FROM runs AS held
	WHERE held.attached AND held.claimable_at_ms IS NULL
		AND held.lease_expires_at_ms > {now})`),

	ClaimableWithin: expand(`
SELECT c.run_id, c.session_id, c.agent_id, c.claimable_at_ms
FROM claimable_runs AS c
WHERE c.claimable_at_ms <= {now}`),

	Claimable: expand(`
SELECT r.run_id, r.session_id, r.agent_id, r.claimable_at_ms
FROM (
	SELECT c.run_id, c.session_id, c.agent_id, c.claimable_at_ms
	FROM claimable_runs AS c
	WHERE c.claimable_at_ms <= {now}
	ORDER BY c.claimable_at_ms
	LIMIT $1::bigint
) AS r
ORDER BY r.claimable_at_ms, r.run_id`),

	ClaimableOfAgents: expand(`
SELECT r.run_id, r.session_id, r.agent_id, r.claimable_at_ms
FROM unnest($1::text[]) AS a (agent_id)
CROSS JOIN LATERAL (
	SELECT c.run_id, c.session_id, c.agent_id, c.claimable_at_ms
	FROM claimable_runs AS c
	WHERE c.agent_id = a.agent_id
		AND c.claimable_at_ms <= {now}
	ORDER BY c.claimable_at_ms
	LIMIT $2::bigint
) AS r
ORDER BY r.claimable_at_ms, r.run_id
LIMIT $2::bigint`),

	Due: expand(`
SELECT q.session_id, q.run_id
FROM requests AS q
WHERE q.due_at_ms <= {now}
ORDER BY q.due_at_ms, q.session_id, q.run_id
LIMIT $1::bigint`),

	NextDue: expand(`
SELECT coalesce((
	SELECT q.due_at_ms FROM requests AS q WHERE q.due_at_ms IS NOT NULL
	ORDER BY q.due_at_ms, q.session_id, q.run_id LIMIT 1
), 0), {now}`),

	DueEffects: expand(`
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id = '' AND f.due_at_ms <= {now}
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $1::bigint`),

	FinishedRuns: `
SELECT r.finished_at_ms, r.run_id, r.session_id
FROM runs AS r
WHERE r.finished_at_ms > 0 AND r.finished_at_ms < $1::bigint AND (r.finished_at_ms, r.run_id) > ($2::bigint, $3::text)
ORDER BY r.finished_at_ms, r.run_id
LIMIT $4`,

	Lists: read.Lists{
		// The addition keeps the planner from walking an index of all rows until it has found
		// enough of one session, or in a rare state.
		Sorted:         " + 0",
		PendingEffects: "effects AS f",
		// Postgres cannot search JSON with \u0000 in a text.
		OpenQuestions: `coalesce(sum(CASE WHEN replace(q.body, '\u0000', '\u0020')::json -> 'response_schema' IS NOT NULL THEN 1
	ELSE json_array_length(replace(q.body, '\u0000', '\u0020')::json -> 'questions')
		- coalesce(json_array_length(q.partial_answers::json), 0) END), 0)::bigint`,
		// A run's session follows from its id, which the planner does not know: it expects hardly any row of a join by both, so it
		// would read and sort all requests for one page.
		RequestRuns: `
FROM requests AS q CROSS JOIN LATERAL (
	SELECT * FROM runs AS one WHERE one.session_id = q.session_id AND one.run_id = q.run_id OFFSET 0
) AS r`,
		// The planner would rather walk all open requests than join the sessions with them.
		SessionIn:  "q.session_id = ANY (ARRAY(%s))",
		Unfinished: "coalesce(r.finished_at_ms, 0) = 0",
	},
}

// within returns the events of a statement that are within $4 bytes of bodies, one at least, and the
// number of its events.
func within(events string) string {
	return expand(`
SELECT e.*, e.count
FROM (
	SELECT n.*, sum(octet_length(n.body)) OVER w AS bytes, row_number() OVER w AS place, count(*) OVER () AS count
	FROM (` + events + `
	) AS n
	WINDOW w AS (ORDER BY n.event_id)
) AS e
WHERE e.place = 1 OR e.bytes <= $4::bigint
ORDER BY e.event_id`)
}

// newest returns the bodies of the newest outputs of a statement, oldest first, within $2 bytes, one at
// least, and the number of its outputs. The limits are api.MaxOutputsShown, and in the statement one more,
// which shows whether there are more.
func newest(outputs string) string {
	return `
SELECT o.body, o.count
FROM (
	SELECT n.event_id, n.body, sum(octet_length(n.body)) OVER w AS bytes, row_number() OVER w AS place, count(*) OVER () AS count
	FROM (` + outputs + `
	) AS n
	WINDOW w AS (ORDER BY n.event_id DESC)
) AS o
WHERE o.place <= 100 AND (o.place = 1 OR o.bytes <= $2::bigint)
ORDER BY o.event_id`
}
