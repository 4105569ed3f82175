package sqlite

import (
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// comparesNow lists the statements that compare with the current time.
var comparesNow = map[string]bool{"exact rules": true, "rule counts": true, "session rules": true}

// unfinishedRuns returns the oldest unfinished runs of each session: those within its limits, at
// least one, and one beyond them. A run's size includes its loaded requests. Later runs may follow one
// that is cut.
var unfinishedRuns = `
WITH measured AS (
	SELECT one.run_id, row_number() OVER w AS place, one.size, sum(one.size) OVER w AS bytes,
		CAST(one.budget AS INTEGER) AS budget, CAST(one.most AS INTEGER) AS most, one.of_kind
	FROM (
		SELECT k.key, k.value ->> 1 AS most, k.value ->> 2 AS of_kind, k.value ->> 3 AS budget, r.run_id, r.first_event_id, ` + read.RunSize + ` AS size
		FROM json_each($1) AS k
		CROSS JOIN runs AS r ON r.run_id IN (
			SELECT one.run_id FROM runs AS one
			WHERE one.session_id = k.value ->> 0 AND one.finished_at_ms IS NULL AND (k.value ->> 2 = '' OR one.kind = k.value ->> 2)
			ORDER BY one.first_event_id LIMIT (SELECT max(CAST(most.value ->> 1 AS INTEGER)) FROM json_each($1) AS most))
	) AS one
	WINDOW w AS (PARTITION BY one.key ORDER BY one.first_event_id)
), page AS MATERIALIZED (
	SELECT n.run_id, n.of_kind,
		CASE WHEN n.place > 1 AND n.bytes > n.budget THEN 1 ELSE 0 END AS beyond,
		CASE WHEN n.place >= n.most OR n.place > 1 AND n.bytes > n.budget THEN 1 ELSE 0 END AS cut
	FROM measured AS n
	WHERE n.place <= 2 OR n.bytes - n.size <= n.budget
)`

// newestNamed is the run of a session's newest request with an id and of a kind.
const newestNamed = `(
	SELECT n.run_id FROM requests AS n
	WHERE n.session_id = k.value ->> 0 AND n.request_id = k.value ->> 1 AND n.kind = k.value ->> 2
	ORDER BY n.created_at_ms DESC, n.run_id DESC LIMIT 1)`

// The rules of a session, or of all, that are counted, at most one more than may be. Each is read twice: SQLite has
// no lateral join. Exact rules of all sessions have no limit and are not counted.
const (
	ruleBytes    = `octet_length(l.match) + octet_length(l.text) + coalesce(octet_length(l.reason), 0) + coalesce(octet_length(l.escalation), 0) + coalesce(octet_length(l.hint), 0)`
	countedRules = `
		FROM rules AS l INDEXED BY rules_standing
		WHERE l.session_id = k.value ->> 0 AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
			AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $2) AND (l.max_uses IS NULL OR l.uses < l.max_uses) LIMIT 10001`
	countedExactRules = `
		FROM rules AS l INDEXED BY rules_standing
		WHERE l.session_id = k.value ->> 0 AND k.value ->> 0 <> '*' AND l.input_digest IS NOT NULL AND l.revoked_at_ms IS NULL
			AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $2) AND (l.max_uses IS NULL OR l.uses < l.max_uses) LIMIT 1001`
)

// requestsOf returns the requests of a run's Resume: the open ones, and those settled since. The rows name the runs by an id.
func requestsOf(rows, id, where string) string {
	return `
SELECT q.*
FROM ` + rows + `
CROSS JOIN requests AS q ON q.run_id = ` + id + ` AND q.outcome IS NULL
` + where + `
UNION ALL
SELECT q.*
FROM ` + rows + `
CROSS JOIN runs AS r ON r.run_id = ` + id + `
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.settled_number > r.resume_after
` + where
}

// loadStatements are the statements of load.Questions. Their arguments are JSON arrays of keys,
// each an array of its parts. CROSS JOIN makes SQLite go from the keys to the rows.
//
// The last argument of those in comparesNow is the batch's time.
var loadStatements = columns.ExpandAll(expand, map[string]string{
	"sessions": `
SELECT s.*
FROM json_each($1) AS k
CROSS JOIN sessions AS s ON s.session_id = k.value ->> 0`,

	"runs": `
SELECT r.*,
	{place of r}
FROM (
	SELECT n.value ->> 0 AS session_id, n.value ->> 1 AS run_id FROM json_each($2) AS n
	UNION
	SELECT s.session_id, s.active_run_id
	FROM json_each($1) AS a
	CROSS JOIN sessions AS s ON s.session_id = a.value ->> 0 AND s.active_run_id IS NOT NULL
	UNION
	SELECT h.session_id, h.run_id
	FROM json_each($1) AS a
	CROSS JOIN sessions AS s ON s.session_id = a.value ->> 0 AND s.queued_count > 0
	CROSS JOIN runs AS h ON h.run_id IN (
		SELECT head.run_id FROM runs AS head
		WHERE head.session_id = s.session_id AND head.finished_at_ms IS NULL AND head.status = 'queued'
		ORDER BY head.first_event_id
		LIMIT (SELECT max(CAST(most.value ->> 1 AS INTEGER)) FROM json_each($1) AS most))
) AS k
CROSS JOIN runs AS r ON r.run_id = k.run_id AND r.session_id = k.session_id`,

	"requests": `
WITH k (session_id, run_id) AS (
	SELECT n.value ->> 0, n.value ->> 1 FROM json_each($2) AS n
	UNION
	SELECT s.session_id, s.active_run_id
	FROM json_each($1) AS a
	CROSS JOIN sessions AS s ON s.session_id = a.value ->> 0 AND s.active_run_id IS NOT NULL
)
SELECT q.*
FROM k
CROSS JOIN runs AS r ON r.run_id = k.run_id AND r.session_id = k.session_id
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.outcome IS NULL
UNION ALL
SELECT q.*
FROM k
CROSS JOIN runs AS r ON r.run_id = k.run_id AND r.session_id = k.session_id
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.settled_number > r.resume_after`,

	"named requests": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN requests AS q
	ON q.session_id = k.value ->> 0 AND q.run_id = k.value ->> 1 AND q.request_id = k.value ->> 2`,

	"suspensions": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN requests AS q
	ON q.session_id = k.value ->> 0 AND q.run_id = k.value ->> 1 AND q.suspension_id = k.value ->> 2`,

	// Ids may recur in each run of a session. Of the settled requests, only keys and times are compared.
	"session requests": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN requests AS q INDEXED BY requests_open
	ON q.kind = k.value ->> 2 AND q.session_id = k.value ->> 0 AND q.request_id = k.value ->> 1 AND q.outcome IS NULL
UNION ALL
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN requests AS q ON q.session_id = k.value ->> 0 AND q.request_id = k.value ->> 1 AND q.run_id IN (
	(SELECT s.active_run_id FROM sessions AS s WHERE s.session_id = k.value ->> 0), ` + newestNamed + `)`,

	"runs of session requests": `
SELECT r.*
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id = ` + newestNamed,

	"all runs of session requests": `
SELECT r.*
FROM json_each($1) AS k
CROSS JOIN requests AS q INDEXED BY requests_open
	ON q.kind = k.value ->> 2 AND q.session_id = k.value ->> 0 AND q.request_id = k.value ->> 1 AND q.outcome IS NULL
CROSS JOIN runs AS r ON r.run_id = q.run_id
UNION ALL
SELECT r.*
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id = ` + newestNamed,

	"requests of all runs of session requests": `
WITH k (run_id) AS (
	SELECT q.run_id
	FROM json_each($1) AS k
	CROSS JOIN requests AS q INDEXED BY requests_open
		ON q.kind = k.value ->> 2 AND q.session_id = k.value ->> 0 AND q.request_id = k.value ->> 1 AND q.outcome IS NULL
	UNION
	SELECT ` + newestNamed + ` FROM json_each($1) AS k
)` + requestsOf("k", "k.run_id", ""),

	// One run beyond the limit shows that there are more.
	"unfinished runs": unfinishedRuns + `
SELECT r.*, page.beyond, page.cut, page.of_kind
FROM page
CROSS JOIN runs AS r ON r.run_id = page.run_id`,

	"requests of unfinished runs": unfinishedRuns + requestsOf("page", "page.run_id", "WHERE page.beyond = 0"),

	"chosen runs": `
SELECT r.*,
	{place of r}
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id = k.value ->> 0`,

	"requests of chosen runs": requestsOf("json_each($1) AS k", "k.value ->> 0", ""),

	"clarifications": `
SELECT r.*
FROM json_each($1) AS k
CROSS JOIN runs AS r
	ON r.session_id = k.value ->> 0 AND r.finished_at_ms IS NULL AND r.kind = 'parent_clarification'`,

	"requests of clarifications": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN runs AS r
	ON r.session_id = k.value ->> 0 AND r.finished_at_ms IS NULL AND r.kind = 'parent_clarification'
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.outcome IS NULL
UNION ALL
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN runs AS r
	ON r.session_id = k.value ->> 0 AND r.finished_at_ms IS NULL AND r.kind = 'parent_clarification'
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.settled_number > r.resume_after`,

	"effects": `
SELECT f.*
FROM json_each($1) AS k
CROSS JOIN effects AS f ON f.session_id = k.value ->> 0 AND f.effect_id = k.value ->> 1`,

	"messages": `
SELECT m.*
FROM json_each($1) AS k
CROSS JOIN messages AS m ON m.session_id = k.value ->> 0 AND m.message_id = k.value ->> 1`,

	"messages of runs": `
SELECT m.*
FROM json_each($1) AS k
CROSS JOIN messages AS m
	ON m.session_id = k.value ->> 0 AND m.run_id = k.value ->> 1 AND m.acknowledged_at_ms IS NULL`,

	// The oldest messages of each session and state.
	"mailboxes": `
WITH page AS MATERIALIZED (
	SELECT n.session_id, n.message_id, row_number() OVER w AS place, sum(octet_length(n.payload)) OVER w AS bytes, k.value ->> 3 AS budget
	FROM json_each($1) AS k
	CROSS JOIN messages AS n ON n.session_id = k.value ->> 0 AND n.message_id IN (
		SELECT oldest.message_id FROM messages AS oldest
		WHERE oldest.session_id = k.value ->> 0 AND oldest.state = k.value ->> 1 AND oldest.acknowledged_at_ms IS NULL
		ORDER BY oldest.created_at_ms, oldest.message_id
		LIMIT (SELECT max(CAST(most.value ->> 2 AS INTEGER)) FROM json_each($1) AS most))
	WINDOW w AS (PARTITION BY k.key ORDER BY n.created_at_ms, n.message_id)
)
SELECT m.*
FROM page
CROSS JOIN messages AS m ON m.session_id = page.session_id AND m.message_id = page.message_id
WHERE page.place = 1 OR page.bytes <= CAST(page.budget AS INTEGER)`,

	"queues": `
SELECT k.value ->> 0, count(r.run_id), coalesce(sum(coalesce(octet_length(r.metadata), 0) + (
	SELECT octet_length(p.value) FROM run_payloads AS p WHERE p.run_id = r.run_id AND p.member = 'input')), 0)
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.session_id = k.value ->> 0 AND r.finished_at_ms IS NULL AND r.status = 'queued'
GROUP BY k.key`,

	// A clarification has its question twice: in its run and in its request.
	"open clarifications": `
SELECT k.value ->> 0, count(*), coalesce(sum(2 * octet_length(q.body) + coalesce(octet_length(q.partial_answers), 0) + coalesce(octet_length(q.acknowledgement), 0)), 0)
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.session_id = k.value ->> 0 AND r.finished_at_ms IS NULL AND r.kind = 'parent_clarification'
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.outcome IS NULL
GROUP BY k.key`,

	"open calls": `
SELECT k.value ->> 0, count(*), coalesce(sum(octet_length(q.body)), 0)
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.session_id = k.value ->> 0 AND r.finished_at_ms IS NULL AND r.kind = 'call'
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.outcome IS NULL AND q.kind IN ('approval', 'question')
GROUP BY k.key`,

	"mailbox sizes": `
SELECT k.value ->> 0, count(*), coalesce(sum(octet_length(m.payload)), 0)
FROM json_each($1) AS k
CROSS JOIN messages AS m ON m.session_id = k.value ->> 0 AND m.acknowledged_at_ms IS NULL
GROUP BY k.key`,

	"rule versions": `
SELECT v.session_id, v.version
FROM json_each($1) AS k
CROSS JOIN rule_versions AS v ON v.session_id = k.value ->> 0`,

	// At most runs.MaxExactRulesLoaded per session and digest, and runs.MaxExactRuleBytesLoaded.
	// SQLite does not choose rules_standing on its own once there are many rules: only this
	// index skips rules about other inputs. Expired and used-up rules must not fill the limit: a
	// deny behind them would not be loaded.
	"exact rules": `
WITH page AS MATERIALIZED (
	SELECT n.rule_id, octet_length(n.text) + coalesce(octet_length(n.reason), 0) AS size,
		sum(octet_length(n.text) + coalesce(octet_length(n.reason), 0)) OVER (PARTITION BY k.key ROWS UNBOUNDED PRECEDING) AS bytes
	FROM json_each($1) AS k
	CROSS JOIN rules AS n ON n.rule_id IN (
		SELECT one.rule_id FROM rules AS one INDEXED BY rules_standing
		WHERE one.session_id = k.value ->> 0 AND one.input_digest = k.value ->> 1 AND one.revoked_at_ms IS NULL
			AND (one.expires_at_ms IS NULL OR one.expires_at_ms > $2) AND (one.max_uses IS NULL OR one.uses < one.max_uses) LIMIT 64)
)
SELECT l.*
FROM page
CROSS JOIN rules AS l ON l.rule_id = page.rule_id
WHERE page.bytes - page.size < 40960`,

	"rule counts": `
SELECT k.value ->> 0,
	(SELECT count(*) FROM (SELECT 1` + countedRules + `)),
	(SELECT coalesce(sum(counted.bytes), 0) FROM (SELECT ` + ruleBytes + ` AS bytes` + countedRules + `) AS counted),
	(SELECT count(*) FROM (SELECT 1` + countedExactRules + `)),
	(SELECT coalesce(sum(counted.bytes), 0) FROM (SELECT ` + ruleBytes + ` AS bytes` + countedExactRules + `) AS counted)
FROM json_each($1) AS k`,

	"session rules": `
SELECT l.*
FROM json_each($1) AS k
CROSS JOIN rules AS l INDEXED BY rules_standing ON l.session_id = k.value ->> 0 AND l.revoked_at_ms IS NULL
	AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $2) AND (l.max_uses IS NULL OR l.uses < l.max_uses)`,

	"named rules": `
SELECT l.*
FROM json_each($1) AS k
CROSS JOIN rules AS l ON l.rule_id = k.value ->> 0`,

	"tokens": `
SELECT t.token_id, t.secret_hash, coalesce(t.previous_hash, ''), coalesce(t.previous_until_ms, 0), coalesce(t.expires_at_ms, 0), coalesce(t.revoked_at_ms, 0)
FROM json_each($1) AS k
CROSS JOIN tokens AS t ON t.token_id = k.value ->> 0`,

	"sign-ins": `
SELECT i.cookie_hash, i.token_id
FROM json_each($1) AS k
CROSS JOIN sign_ins AS i ON i.cookie_hash = k.value ->> 0`,

	"payloads": `
SELECT r.session_id, r.run_id,
	(SELECT p.value FROM run_payloads AS p WHERE p.run_id = r.run_id AND p.member = 'input'),
	(SELECT p.value FROM run_payloads AS p WHERE p.run_id = r.run_id AND p.member = 'checkpoint')
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id = k.value ->> 1 AND r.session_id = k.value ->> 0`,

	"records": `
SELECT i.*
FROM json_each($1) AS k
CROSS JOIN idempotency_records AS i
	ON i.scope = k.value ->> 0 AND i.operation = k.value ->> 1 AND i.idempotency_key = k.value ->> 2`,

	// runs.MaxRunNames are counted, at most.
	"name counts": `
SELECT k.value ->> 0, k.value ->> 1, (SELECT count(*) FROM (
	SELECT 1 FROM idempotency_records AS i INDEXED BY idempotency_records_names
	WHERE i.session_id = k.value ->> 0 AND i.run_id = k.value ->> 1 AND i.operation = 'name' LIMIT 1000))
FROM json_each($1) AS k`,
})
