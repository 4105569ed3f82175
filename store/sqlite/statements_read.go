package sqlite

import (
	"strings"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// readStatements are the statements of the reads. Lists are JSON arrays of texts. Bodies are
// measured before they are read: rows store their lengths.
var readStatements = read.Statements{
	Same: read.SameStatements, Counts: countStatements,

	RunPayload: `
SELECT r.run_id,
	(SELECT p.value FROM run_payloads AS p WHERE p.run_id = r.run_id AND p.member = 'input'),
	(SELECT p.value FROM run_payloads AS p WHERE p.run_id = r.run_id AND p.member = 'checkpoint')
FROM runs AS r WHERE r.run_id = $1`,

	RequestsOfRuns: expand(requestsOf("json_each($1) AS k", "k.value", "") + "\nORDER BY run_id, number"),

	RunOutputs: newestOutputs("e.run_id = $1 AND e.type = 'output'"),

	// One pass over each queue.
	QueuePlaces: `
SELECT place.run_id, place.ahead
FROM (
	SELECT r.run_id, row_number() OVER (PARTITION BY r.session_id ORDER BY r.first_event_id) - 1 AS ahead
	FROM runs AS r
	WHERE r.session_id IN (SELECT k.value FROM json_each($1) AS k) AND r.finished_at_ms IS NULL AND r.status = 'queued'
) AS place
WHERE place.run_id IN (SELECT k.value FROM json_each($2) AS k)`,

	// As SessionEventsWithin, within $4 bytes.
	SettledAfter: expand(`
SELECT q.*
FROM requests AS q
WHERE q.run_id = $1 AND q.settled_number > $2 AND $4 IS NOT NULL
ORDER BY q.settled_number LIMIT CAST($3 AS bigint)`),

	ActiveRun: expand(`
SELECT r.*, 0
FROM sessions AS s
CROSS JOIN runs AS r ON r.run_id = s.active_run_id
WHERE s.session_id = $1`),

	ActiveRunRequests: expand(requestsOf("sessions AS s", "s.active_run_id", "WHERE s.session_id = $1") + "\nORDER BY number"),

	SessionOutputs: newestOutputs("e.session_id = $1 AND e.type = 'output'"),

	SessionBesides: expand(`
SELECT q.*, r.agent_id, r.kind, r.requester, NULL, ''
FROM runs AS r
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.outcome IS NULL AND q.kind IN ('approval', 'question')
WHERE r.session_id = $1 AND r.finished_at_ms IS NULL AND r.kind IN ('parent_clarification', 'call')
ORDER BY r.run_id, q.request_id
LIMIT CAST($2 AS bigint)`),

	// Rows are read one by one until the reader stops, within $4 bytes, so nothing is measured
	// or counted first.
	SessionEventsWithin: expand(`
SELECT e.*, 0 FROM events AS e
WHERE e.session_id = $1 AND e.event_id > $2 AND $4 IS NOT NULL
ORDER BY e.event_id LIMIT CAST($3 AS bigint)`),
	SessionRequestEventsWithin: expand(`
SELECT e.*, 0 FROM events AS e INDEXED BY events_of_requests
WHERE e.session_id = $1 AND e.event_id > $2 AND $4 IS NOT NULL
	AND {e is about a request}
ORDER BY e.event_id LIMIT CAST($3 AS bigint)`),
	RunRequestEventsWithin: expand(`
SELECT e.*, 0 FROM runs AS r CROSS JOIN events AS e INDEXED BY events_of_requests
WHERE r.run_id = $1 AND e.session_id = r.session_id AND e.run_id = r.run_id
	AND e.event_id > max($2, r.first_event_id - 1) AND e.event_id <= r.last_event_id AND $4 IS NOT NULL
	AND {e is about a request}
ORDER BY e.event_id LIMIT CAST($3 AS bigint)`),
	RunEventsWithin: expand(`
SELECT e.*, 0 FROM events AS e
WHERE e.run_id = $1 AND e.event_id > $2 AND $4 IS NOT NULL
ORDER BY e.event_id LIMIT CAST($3 AS bigint)`),
	RunOutputsWithin: expand(`
SELECT e.*, 0 FROM events AS e
WHERE e.run_id = $1 AND e.type = 'output' AND e.event_id > $2 AND $4 IS NOT NULL
ORDER BY e.event_id LIMIT CAST($3 AS bigint)`),

	RequestByHandle: expand(`
SELECT q.*, r.agent_id, r.kind, r.requester, (SELECT s.about FROM sessions AS s WHERE s.session_id = q.session_id),
	(SELECT coalesce(s.parent_session_id, '') FROM sessions AS s WHERE s.session_id = q.session_id)
FROM requests AS q JOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id
WHERE q.handle = $1`),

	StandingRules: expand(`
SELECT l.*
FROM rules AS l INDEXED BY rules_standing
WHERE l.session_id = $1 AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
	AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $3)
	AND (l.max_uses IS NULL OR l.uses < l.max_uses)
LIMIT CAST($2 AS bigint)`),

	// The + keeps the rules from being found by their session.
	ChangedRules: expand(`
SELECT l.*
FROM rules AS l
WHERE +l.session_id = '*' AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
	AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $3)
	AND l.rule_id IN (
		SELECT c.rule_id FROM rule_changes AS c
		WHERE c.version > $1 ORDER BY c.version, c.rule_id LIMIT CAST($2 AS bigint))`),

	RulesFor: expand(`
SELECT l.*
FROM json_each($1) AS k
CROSS JOIN rules AS l INDEXED BY rules_standing ON l.session_id = k.value AND l.revoked_at_ms IS NULL
ORDER BY l.created_at_ms, l.rule_id
LIMIT CAST($2 AS bigint)`),

	RuleSizesFor: `
SELECT ` + columns.Rules.Size() + `
FROM json_each($1) AS k
CROSS JOIN rules AS l INDEXED BY rules_standing ON l.session_id = k.value AND l.revoked_at_ms IS NULL
ORDER BY l.created_at_ms, l.rule_id
LIMIT CAST($2 AS bigint)`,

	Now: `SELECT $1`,

	// A run that continues under a lease is claimable when the lease ends; a waiting one has an
	// attached worker.
	LeasedRuns: expand(`
SELECT r.*, 0
FROM runs AS r
WHERE r.run_id IN (
	SELECT held.run_id FROM runs AS held INDEXED BY runs_claimable
	WHERE held.claimable_at_ms > $1 AND held.lease_expires_at_ms IS NOT NULL
	UNION ALL
	SELECT held.run_id FROM runs AS held INDEXED BY runs_attached
	WHERE held.attached = 1 AND held.claimable_at_ms IS NULL AND held.lease_expires_at_ms > $1)`),

	ClaimableWithin: `
SELECT c.run_id, c.session_id, c.agent_id, c.claimable_at_ms
FROM runs AS c
WHERE c.claimable_at_ms <= $1`,

	Claimable: `
SELECT r.run_id, r.session_id, r.agent_id, r.claimable_at_ms
FROM runs AS r
WHERE r.claimable_at_ms <= $2
ORDER BY r.claimable_at_ms, r.run_id
LIMIT CAST($1 AS bigint)`,

	// One short index walk per agent: without the inner limit all their claimable runs would be
	// sorted.
	ClaimableOfAgents: `
SELECT r.run_id, r.session_id, r.agent_id, r.claimable_at_ms
FROM json_each($1) AS a
CROSS JOIN runs AS r ON r.run_id IN (
	SELECT c.run_id FROM runs AS c
	WHERE c.agent_id = a.value AND c.claimable_at_ms <= $3
	ORDER BY c.claimable_at_ms, c.run_id
	LIMIT CAST($2 AS bigint))
ORDER BY r.claimable_at_ms, r.run_id
LIMIT CAST($2 AS bigint)`,

	Due: `
SELECT q.session_id, q.run_id
FROM requests AS q
WHERE q.due_at_ms <= $2
GROUP BY q.session_id, q.run_id
ORDER BY min(q.due_at_ms), q.session_id, q.run_id
LIMIT CAST($1 AS bigint)`,

	NextDue: `SELECT coalesce(min(q.due_at_ms), 0), $1 FROM requests AS q WHERE q.due_at_ms IS NOT NULL`,

	DueEffects: `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id = '' AND f.due_at_ms <= $2
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT CAST($1 AS bigint)`,

	FinishedRuns: `
SELECT r.finished_at_ms, r.run_id, r.session_id
FROM runs AS r INDEXED BY runs_finished
WHERE r.finished_at_ms < $1 AND r.finished_at_ms >= $2 AND (r.finished_at_ms, r.run_id) > ($2, $3)
ORDER BY r.finished_at_ms, r.run_id
LIMIT CAST($4 AS bigint)`,

	// SQLite does not choose effects_due on its own. Without MATERIALIZED it looks for each next
	// row on demand, and only the first search ends with its context.
	Lists: read.Lists{
		PendingEffects: "effects AS f INDEXED BY effects_due",
		OpenQuestions: `coalesce(sum(CASE WHEN json_type(q.body, '$.response_schema') IS NOT NULL THEN 1
	ELSE json_array_length(q.body, '$.questions') - coalesce(json_array_length(q.partial_answers), 0) END), 0)`,
		SessionIn: "q.session_id IN (%s)",
		RunIndex:  runIndex,
		Whole:     "WITH page AS MATERIALIZED (%s) SELECT * FROM page",
	},
}

// runIndex names the index of a list of runs: SQLite has no statistics here and chooses any that
// fits. The remaining filters are the runs of one session, the kinds of one agent or status, and
// the finished runs of one agent or kind.
func runIndex(q reads.RunQuery, part string) string {
	unfinished := part == read.Unfinished
	index := "runs_list"
	switch {
	case q.SessionID != "" && unfinished:
		index = "runs_unfinished"
	case q.SessionID != "":
		index = "runs_list_of_session"
	case q.AgentID != "" && q.Status != "":
		index = "runs_list_of_agent_status"
	case q.Status != "":
		index = "runs_list_of_status"
	case q.AgentID != "" && unfinished:
		index = "runs_list_unfinished_of_agent"
	case q.AgentID != "":
		index = "runs_list_of_agent"
	case unfinished:
		index = "runs_list_unfinished"
	case q.Kind != "" && !q.WithCalls:
		index = "runs_list_of_kind"
	case part == read.Finished:
		index = "runs_list_finished"
	}
	return " INDEXED BY " + index
}

// newestOutputs returns the bodies of the newest outputs among the events e of a condition, oldest first,
// within $2 bytes, one at least, and their number. The limits are api.MaxOutputsShown, and inside one more,
// which shows whether there are more.
func newestOutputs(condition string) string {
	return `
SELECT e.body, newest.count
FROM (
	SELECT n.*, sum(n.size) OVER w AS bytes, row_number() OVER w AS place, count(*) OVER () AS count
	FROM (
		SELECT e.rowid AS line, e.event_id, octet_length(e.body) AS size FROM events AS e
		WHERE ` + condition + `
		ORDER BY e.event_id DESC LIMIT 101
	) AS n
	WINDOW w AS (ORDER BY n.event_id DESC)
) AS newest
CROSS JOIN events AS e ON e.rowid = newest.line
WHERE newest.place <= 100 AND (newest.place = 1 OR newest.bytes <= $2)
ORDER BY newest.event_id`
}

// expand replaces a row type's alias and star by its columns, and events about requests by their types, each
// compared by itself: with IN, SQLite does not see that the index has them.
func expand(statement string) string {
	return columns.Expand(strings.ReplaceAll(statement, "{e is about a request}",
		`(e.type = 'waiting_for_approval' OR e.type = 'approval_resolved' OR e.type = 'waiting_for_user_question'
		OR e.type = 'user_question_answered' OR e.type = 'user_question_resolved' OR e.type = 'parent_clarification_resolved'
		OR e.type = 'request_acknowledged')`))
}
