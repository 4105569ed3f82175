package postgres

import (
	"strconv"

	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// unfinishedRuns returns the oldest unfinished runs of the session of k: those within its
// limits, at least one, and one beyond them. A run's size includes its loaded requests. Later runs
// may follow one that is cut.
var unfinishedRuns = `
	SELECT n.*, CASE WHEN n.place > 1 AND n.bytes > k.budget::bigint THEN 1 ELSE 0 END::bigint AS beyond,
		CASE WHEN n.place >= k.most::bigint OR n.place > 1 AND n.bytes > k.budget::bigint THEN 1 ELSE 0 END::bigint AS cut
	FROM (
		SELECT x.*, row_number() OVER w AS place, sum(x.size) OVER w AS bytes
		FROM (
			SELECT *, ` + read.RunSize + ` AS size FROM runs AS r
			WHERE r.session_id = k.session_id AND r.finished_at_ms IS NULL AND (k.kind = '' OR r.kind = k.kind)
			ORDER BY r.first_event_id LIMIT k.most::bigint
		) AS x
		WINDOW w AS (ORDER BY x.first_event_id)
	) AS n
	WHERE n.place <= 2 OR n.bytes - n.size <= k.budget::bigint
	ORDER BY n.first_event_id OFFSET 0
`

// newestNamed is a session's newest request with an id and of a kind.
const newestNamed = `(SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.request_id = k.request_id AND one.kind = k.kind
	ORDER BY one.created_at_ms DESC, one.run_id DESC LIMIT 1)`

// runsNamed are the runs with an open request, or the newest one, of an id and a kind.
const runsNamed = `FROM (
	SELECT DISTINCT q.session_id, q.run_id
	FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, request_id, kind)
	CROSS JOIN LATERAL (
		(SELECT * FROM requests AS one
		WHERE one.session_id = k.session_id AND one.request_id = k.request_id AND one.kind = k.kind AND one.outcome IS NULL OFFSET 0)
		UNION ALL
		` + newestNamed + `
	) AS q
) AS k`

// openClarifications are the runs with an open question of the sessions s.
const openClarifications = `FROM unnest($1::text[]) AS s (session_id)
CROSS JOIN LATERAL (
	SELECT DISTINCT one.session_id, one.run_id FROM requests AS one
	WHERE one.kind = 'question' AND one.session_id = s.session_id AND one.settled_number IS NULL
) AS k
{run r of k}`

// countedRules counts the rules in force of the session of k that meet a condition, at most limit.
func countedRules(condition string, limit int) string {
	return `CROSS JOIN LATERAL (
	SELECT count(*) AS rules, coalesce(sum(octet_length(one.match) + octet_length(one.text) + coalesce(octet_length(one.reason), 0) + coalesce(octet_length(one.escalation), 0) + coalesce(octet_length(one.hint), 0)), 0)::bigint AS bytes
	FROM (
		SELECT * FROM rules AS l
		WHERE l.session_id = k.session_id AND ` + condition + ` AND l.revoked_at_ms IS NULL
			AND (l.expires_at_ms IS NULL OR l.expires_at_ms > {now})
			AND (l.max_uses IS NULL OR l.uses < l.max_uses)
		LIMIT ` + strconv.Itoa(limit) + `
	) AS one
)`
}

// loadStatements are the statements of load.Questions. Each reaches rows by the keys of k
// through a subquery that the planner cannot flatten (LIMIT 1 or OFFSET 0), so that it looks up
// one key after the other. As a plain join, planned while the table is empty, it would walk a
// whole index and look up each row among the keys; a rarely used connection keeps that plan
// while others fill the table.
var loadStatements = columns.ExpandAll(expand, map[string]string{
	// A batch only decides about sessions that it has locked, so commands of one session are
	// decided one after the other. It does not wait for a session that another transaction has
	// locked, because the lane's other sessions would wait too; sqlSessionsThere distinguishes
	// it from a missing one.
	"sessions": `
SELECT s.*
FROM sessions AS s
WHERE s.session_id = ANY($1::text[])
ORDER BY s.session_id
FOR UPDATE SKIP LOCKED`,

	"runs": `
SELECT r.*,
	{place of r}
FROM (
	SELECT u.session_id, u.run_id FROM unnest($3::text[], $4::text[]) AS u (session_id, run_id)
	UNION
	SELECT s.session_id, s.active_run_id FROM sessions AS s
	WHERE s.session_id = ANY($1::text[]) AND s.active_run_id IS NOT NULL
	UNION
	SELECT u.session_id, head.run_id
	FROM unnest($1::text[], $2::text[]) AS u (session_id, most)
	CROSS JOIN LATERAL (
		SELECT h.run_id FROM runs AS h
		WHERE h.session_id = u.session_id AND h.finished_at_ms IS NULL AND h.status = 'queued'
		ORDER BY h.first_event_id LIMIT u.most::bigint
	) AS head
) AS k
{run r of k}`,

	"requests": `
SELECT q.*
FROM (
	SELECT u.session_id, u.run_id FROM unnest($2::text[], $3::text[]) AS u (session_id, run_id)
	UNION
	SELECT s.session_id, s.active_run_id FROM sessions AS s
	WHERE s.session_id = ANY($1::text[]) AND s.active_run_id IS NOT NULL
) AS k
{run r of k}
{requests q of r}`,

	"named requests": `
SELECT q.*
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, run_id, request_id)
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.request_id = k.request_id AND one.run_id = k.run_id LIMIT 1
) AS q`,

	"suspensions": `
SELECT q.*
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, run_id, suspension_id)
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.run_id = k.run_id AND one.suspension_id = k.suspension_id OFFSET 0
) AS q`,

	// Ids may recur in each run of a session. Of the settled requests, only keys and times are compared.
	"session requests": `
SELECT q.*
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, request_id, kind)
CROSS JOIN LATERAL (
	(SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.request_id = k.request_id AND one.kind = k.kind AND one.outcome IS NULL OFFSET 0)
	UNION ALL
	(SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.request_id = k.request_id
		AND one.run_id = (SELECT s.active_run_id FROM sessions AS s WHERE s.session_id = k.session_id) LIMIT 1)
	UNION ALL
	` + newestNamed + `
) AS q`,

	"runs of session requests": `
SELECT r.*
FROM (
	SELECT DISTINCT q.session_id, q.run_id
	FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, request_id, kind)
	CROSS JOIN LATERAL ` + newestNamed + ` AS q
) AS k
{run r of k}`,

	"all runs of session requests": `
SELECT r.*
` + runsNamed + `
{run r of k}`,

	"requests of all runs of session requests": `
SELECT q.*
` + runsNamed + `
{run r of k}
{requests q of r}`,

	// One run beyond the limit shows that there are more.
	"unfinished runs": `
SELECT r.*, r.beyond, r.cut, k.kind
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (session_id, most, kind, budget)
CROSS JOIN LATERAL (` + unfinishedRuns + `) AS r`,

	"requests of unfinished runs": `
SELECT q.*
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (session_id, most, kind, budget)
CROSS JOIN LATERAL (` + unfinishedRuns + `) AS r
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = r.session_id AND one.run_id = r.run_id AND r.beyond = 0
		AND coalesce(one.settled_number, 9223372036854775807) > r.resume_after OFFSET 0
) AS q`,

	// Ids are unique across all sessions.
	"chosen runs": `
SELECT r.*,
	{place of r}
FROM unnest($1::text[]) AS k (run_id)
CROSS JOIN LATERAL (SELECT * FROM runs AS one WHERE one.run_id = k.run_id LIMIT 1) AS r`,

	"requests of chosen runs": `
SELECT q.*
FROM unnest($1::text[]) AS k (run_id)
CROSS JOIN LATERAL (SELECT * FROM runs AS one WHERE one.run_id = k.run_id LIMIT 1) AS r
{requests q of r}`,

	// Clarifications are found by their open questions: each has one from its creation to its
	// end. The session may have many runs, but few of these.
	"clarifications": `
SELECT r.*
` + openClarifications + `
WHERE r.kind = 'parent_clarification' AND r.finished_at_ms IS NULL`,

	"requests of clarifications": `
SELECT q.*
` + openClarifications + `
{requests q of r}
WHERE r.kind = 'parent_clarification' AND r.finished_at_ms IS NULL`,

	"effects": `
SELECT f.*
FROM unnest($1::text[], $2::text[]) AS k (session_id, effect_id)
CROSS JOIN LATERAL (
	SELECT * FROM effects AS one
	WHERE one.session_id = k.session_id AND one.effect_id = k.effect_id LIMIT 1
) AS f`,

	"messages": `
SELECT m.*
FROM unnest($1::text[], $2::text[]) AS k (session_id, message_id)
CROSS JOIN LATERAL (
	SELECT * FROM messages AS one
	WHERE one.session_id = k.session_id AND one.message_id = k.message_id LIMIT 1
) AS m`,

	"messages of runs": `
SELECT m.*
FROM unnest($1::text[], $2::text[]) AS k (session_id, run_id)
CROSS JOIN LATERAL (
	SELECT * FROM messages AS one
	WHERE one.session_id = k.session_id AND one.run_id = k.run_id AND one.acknowledged_at_ms IS NULL OFFSET 0
) AS m`,

	// The oldest messages of each session and state.
	"mailboxes": `
SELECT m.*
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (session_id, state, most, budget)
CROSS JOIN LATERAL (
	SELECT x.*, row_number() OVER w AS place, sum(octet_length(x.payload)) OVER w AS bytes
	FROM (
		SELECT * FROM messages AS n
		WHERE n.session_id = k.session_id AND n.state = k.state AND n.acknowledged_at_ms IS NULL
		ORDER BY n.created_at_ms, n.message_id LIMIT k.most::bigint
	) AS x
	WINDOW w AS (ORDER BY x.created_at_ms, x.message_id)
) AS m
WHERE m.place = 1 OR m.bytes <= k.budget::bigint`,

	"queues": `
SELECT k.session_id, c.held, c.bytes
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT count(*) AS held, coalesce(sum(octet_length(one.input) + coalesce(octet_length(one.metadata), 0)), 0)::bigint AS bytes
	FROM runs AS one
	WHERE one.session_id = k.session_id AND one.finished_at_ms IS NULL AND one.status = 'queued'
) AS c`,

	// A clarification has its question twice: in its run and in its request.
	"open clarifications": `
SELECT k.session_id, c.held, c.bytes
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT count(*) AS held, coalesce(sum(2 * octet_length(one.body) + coalesce(octet_length(one.partial_answers), 0) + coalesce(octet_length(one.acknowledgement), 0)), 0)::bigint AS bytes
	FROM requests AS one
	WHERE one.kind = 'question' AND one.session_id = k.session_id AND one.settled_number IS NULL AND (
		SELECT r.kind FROM runs AS r WHERE r.session_id = one.session_id AND r.run_id = one.run_id) = 'parent_clarification'
) AS c`,

	"open calls": `
SELECT k.session_id, c.held, c.bytes
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT count(*) AS held, coalesce(sum(octet_length(one.body)), 0)::bigint AS bytes
	FROM requests AS one
	WHERE one.kind IN ('approval', 'question') AND one.session_id = k.session_id AND one.settled_number IS NULL AND (
		SELECT r.kind FROM runs AS r WHERE r.session_id = one.session_id AND r.run_id = one.run_id) = 'call'
) AS c`,

	"mailbox sizes": `
SELECT k.session_id, c.held, c.bytes
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT count(*) AS held, coalesce(sum(octet_length(one.payload)), 0)::bigint AS bytes
	FROM messages AS one
	WHERE one.session_id = k.session_id AND one.acknowledged_at_ms IS NULL
) AS c`,

	"rule versions": `
SELECT v.session_id, v.version FROM rule_versions AS v WHERE v.session_id = ANY($1::text[])`,

	// runs.MaxExactRulesLoaded of each session and digest, and runs.MaxExactRuleBytesLoaded, at
	// most. Only rules_standing steps over the rules about other exact inputs. Expired and used-up
	// rules must not fill the limit: a deny behind them would not be loaded.
	"exact rules": `
SELECT l.*
FROM unnest($1::text[], $2::text[]) AS k (session_id, input_digest)
CROSS JOIN LATERAL (
	SELECT x.*, octet_length(x.text) + coalesce(octet_length(x.reason), 0) AS size,
		sum(octet_length(x.text) + coalesce(octet_length(x.reason), 0)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
	FROM (
		SELECT * FROM rules AS n
		WHERE n.session_id = k.session_id AND n.input_digest = k.input_digest AND n.revoked_at_ms IS NULL
			AND (n.expires_at_ms IS NULL OR n.expires_at_ms > {now})
			AND (n.max_uses IS NULL OR n.uses < n.max_uses)
		LIMIT 64
	) AS x
) AS l
WHERE l.bytes - l.size < 40960`,

	// One row beyond the limit shows that there are too many. Exact rules of all sessions have no
	// limit and are not counted.
	"rule counts": `
SELECT k.session_id, c.rules, c.bytes, x.rules, x.bytes
FROM unnest($1::text[]) AS k (session_id)
` + countedRules("l.input_digest IS NULL", 10001) + ` AS c
` + countedRules("k.session_id <> '*' AND l.input_digest IS NOT NULL", 1001) + ` AS x`,

	"session rules": `
SELECT l.*
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.revoked_at_ms IS NULL
		AND (one.expires_at_ms IS NULL OR one.expires_at_ms > {now})
		AND (one.max_uses IS NULL OR one.uses < one.max_uses) OFFSET 0
) AS l`,

	// The rows are locked, because a rule may belong to another session than the locked one.
	"named rules": `
SELECT l.*
FROM rules AS l
WHERE l.rule_id = ANY($1::text[])
ORDER BY l.rule_id
FOR UPDATE`,

	// A revocation waits for the decisions made before it.
	"tokens": `
SELECT t.token_id, t.secret_hash, coalesce(t.previous_hash, ''), coalesce(t.previous_until_ms, 0), coalesce(t.expires_at_ms, 0), coalesce(t.revoked_at_ms, 0)
FROM tokens AS t
WHERE t.token_id = ANY($1::text[])
ORDER BY t.token_id
FOR SHARE`,

	// A sign-out waits for the decisions made before it. A call that renews the sign-in does not.
	"sign-ins": `
SELECT i.cookie_hash, i.token_id
FROM sign_ins AS i
WHERE i.cookie_hash = ANY($1::text[])
ORDER BY i.cookie_hash
FOR KEY SHARE`,

	"payloads": `
SELECT r.session_id, r.run_id, r.input, r.checkpoint
FROM unnest($1::text[], $2::text[]) AS k (session_id, run_id)
{run r of k}`,

	"records": `
SELECT i.*
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (scope, operation, idempotency_key)
CROSS JOIN LATERAL (
	SELECT * FROM idempotency_records AS one
	WHERE one.scope = k.scope AND one.operation = k.operation AND one.idempotency_key = k.idempotency_key LIMIT 1
) AS i`,

	// runs.MaxRunNames are counted, at most.
	"name counts": `
SELECT k.session_id, k.run_id, c.names
FROM unnest($1::text[], $2::text[]) AS k (session_id, run_id)
CROSS JOIN LATERAL (
	SELECT count(*) AS names FROM (
		SELECT FROM idempotency_records AS one
		WHERE one.session_id = k.session_id AND one.run_id = k.run_id AND one.operation = 'name' LIMIT 1000
	) AS counted
) AS c`,
})
