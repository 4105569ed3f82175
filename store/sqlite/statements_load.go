package sqlite

import "github.com/holdpoint/holdpoint/store/columns"

// comparesNow has the statements that compare with the present moment.
var comparesNow = map[string]bool{"rule counts": true}

// loadStatements are the statements of load.Questions. Their arguments are JSON arrays of
// keys, each an array of its parts. CROSS JOIN holds SQLite to going from the keys to the
// rows.
//
// The last argument of those in comparesNow is the moment of the batch.
var loadStatements = expanded(map[string]string{
	"sessions": `
SELECT s.*
FROM json_each($1) AS k
CROSS JOIN sessions AS s ON s.session_id = k.value ->> 0`,

	"runs": `
SELECT r.*,
	CASE WHEN r.status = 'queued' THEN (
		SELECT count(*) FROM runs AS ahead
		WHERE ahead.session_id = r.session_id AND ahead.finished_at_ms IS NULL
			AND ahead.status = 'queued' AND ahead.first_event_id < r.first_event_id
	) ELSE 0 END
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

	"session requests": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN requests AS q ON q.session_id = k.value ->> 0 AND q.request_id = k.value ->> 1`,

	"runs of session requests": `
SELECT r.*
FROM json_each($1) AS k
CROSS JOIN requests AS q ON q.session_id = k.value ->> 0 AND q.request_id = k.value ->> 1
CROSS JOIN runs AS r ON r.run_id = q.run_id`,

	"unfinished runs": `
SELECT r.*
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id IN (
	SELECT one.run_id FROM runs AS one
	WHERE one.session_id = k.value ->> 0 AND one.finished_at_ms IS NULL AND (k.value ->> 2 = '' OR one.kind = k.value ->> 2)
	ORDER BY one.first_event_id LIMIT (SELECT max(CAST(most.value ->> 1 AS INTEGER)) FROM json_each($1) AS most))`,

	"requests of unfinished runs": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id IN (
	SELECT one.run_id FROM runs AS one
	WHERE one.session_id = k.value ->> 0 AND one.finished_at_ms IS NULL AND (k.value ->> 2 = '' OR one.kind = k.value ->> 2)
	ORDER BY one.first_event_id LIMIT (SELECT max(CAST(most.value ->> 1 AS INTEGER)) FROM json_each($1) AS most))
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.outcome IS NULL
UNION ALL
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id IN (
	SELECT one.run_id FROM runs AS one
	WHERE one.session_id = k.value ->> 0 AND one.finished_at_ms IS NULL AND (k.value ->> 2 = '' OR one.kind = k.value ->> 2)
	ORDER BY one.first_event_id LIMIT (SELECT max(CAST(most.value ->> 1 AS INTEGER)) FROM json_each($1) AS most))
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.settled_number > r.resume_after`,

	"chosen runs": `
SELECT r.*,
	CASE WHEN r.status = 'queued' THEN (
		SELECT count(*) FROM runs AS ahead
		WHERE ahead.session_id = r.session_id AND ahead.finished_at_ms IS NULL
			AND ahead.status = 'queued' AND ahead.first_event_id < r.first_event_id
	) ELSE 0 END
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id = k.value ->> 0`,

	"requests of chosen runs": `
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN requests AS q ON q.run_id = k.value ->> 0 AND q.outcome IS NULL
UNION ALL
SELECT q.*
FROM json_each($1) AS k
CROSS JOIN runs AS r ON r.run_id = k.value ->> 0
CROSS JOIN requests AS q ON q.run_id = r.run_id AND q.settled_number > r.resume_after`,

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

	// The oldest messages of each session and state, model.MaxMailboxMessages at most.
	"mailboxes": `
SELECT m.*
FROM json_each($1) AS k
CROSS JOIN messages AS m ON m.session_id = k.value ->> 0 AND m.message_id IN (
	SELECT oldest.message_id FROM messages AS oldest
	WHERE oldest.session_id = k.value ->> 0 AND oldest.state = k.value ->> 1 AND oldest.acknowledged_at_ms IS NULL
	ORDER BY oldest.created_at_ms, oldest.message_id LIMIT 1000)`,

	"rule versions": `
SELECT v.session_id, v.version
FROM json_each($1) AS k
CROSS JOIN rule_versions AS v ON v.session_id = k.value ->> 0`,

	// runs.MaxExactRulesLoaded of each session and digest, at most. SQLite does not choose
	// rules_standing by itself once there are many rules: it is the one index that steps over
	// those about other exact inputs.
	"exact rules": `
SELECT l.*
FROM json_each($1) AS k
CROSS JOIN rules AS l ON l.rule_id IN (
	SELECT one.rule_id FROM rules AS one INDEXED BY rules_standing
	WHERE one.session_id = k.value ->> 0 AND one.input_digest = k.value ->> 1 AND one.revoked_at_ms IS NULL LIMIT 64)`,

	// One row more than may be in force says that there are too many.
	"rule counts": `
SELECT k.value ->> 0,
	(SELECT count(*) FROM (
		SELECT 1 FROM rules AS l INDEXED BY rules_standing
		WHERE l.session_id = k.value ->> 0 AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
			AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $2) AND (l.max_uses IS NULL OR l.uses < l.max_uses) LIMIT 10001)),
	(SELECT coalesce(sum(counted.bytes), 0) FROM (
		SELECT length(CAST(l.match AS BLOB)) + length(CAST(l.text AS BLOB)) + coalesce(length(CAST(l.reason AS BLOB)), 0) AS bytes
		FROM rules AS l INDEXED BY rules_standing
		WHERE l.session_id = k.value ->> 0 AND l.input_digest IS NULL AND l.revoked_at_ms IS NULL
			AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $2) AND (l.max_uses IS NULL OR l.uses < l.max_uses) LIMIT 10001) AS counted)
FROM json_each($1) AS k`,

	"session rules": `
SELECT l.*
FROM json_each($1) AS k
CROSS JOIN rules AS l INDEXED BY rules_standing ON l.session_id = k.value ->> 0 AND l.revoked_at_ms IS NULL`,

	"named rules": `
SELECT l.*
FROM json_each($1) AS k
CROSS JOIN rules AS l ON l.rule_id = k.value ->> 0`,

	"tokens": `
SELECT t.token_id, t.secret_hash, coalesce(t.previous_hash, ''), coalesce(t.previous_until_ms, 0), coalesce(t.expires_at_ms, 0), coalesce(t.revoked_at_ms, 0)
FROM json_each($1) AS k
CROSS JOIN tokens AS t ON t.token_id = k.value ->> 0`,

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
})

// expand puts the columns of a row type in place of its alias and a star.
func expand(statement string) string { return columns.Expand(statement) }

func expanded(statements map[string]string) map[string]string {
	for name, statement := range statements {
		statements[name] = expand(statement)
	}
	return statements
}
