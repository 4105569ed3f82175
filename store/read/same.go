package read

import (
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Same are the statements that are the same in both engines.
type Same struct {
	// Run, of $1 run_id, has the place in the queue last.
	Run string
	// Named is of $1 scope, $2 operation and $3 idempotency_key.
	Named string
	// Of $1 session_id.
	Session, QueuedRunIDs string
	// SessionKept returns the number of the session's first kept event. RunKept takes $1 run_id
	// and returns the same if events of the run were deleted, else 1. Both also return the
	// session's last event.
	SessionKept, RunKept string
	// Rule is of $1 rule_id, RuleVersion of $1 session_id.
	Rule, RuleVersion string
	// SessionOf returns the session of $1 run_id.
	SessionOf string
	// RuleChanges returns version, the previous version and rule_id of the changes to rules of all sessions
	// after $1 version, limited to $2.
	RuleChanges string
}

// SameStatements are the statements of Same. The engines' tests check the plans of both.
var SameStatements = Same{
	Run: columns.Expand(`
SELECT r.*,
	{place of r}
FROM runs AS r WHERE r.run_id = $1`),

	Named: columns.Expand(`
SELECT i.* FROM idempotency_records AS i WHERE i.scope = $1 AND i.operation = $2 AND i.idempotency_key = $3`),

	Session: columns.Expand(`SELECT s.* FROM sessions AS s WHERE s.session_id = $1`),

	QueuedRunIDs: `
SELECT r.run_id FROM runs AS r
WHERE r.session_id = $1 AND r.finished_at_ms IS NULL AND r.status = 'queued'
ORDER BY r.first_event_id`,

	SessionKept: `SELECT coalesce(s.first_kept_event_id, 1), s.last_event_id FROM sessions AS s WHERE s.session_id = $1`,

	RunKept: `
SELECT CASE WHEN r.first_event_id < s.first_kept_event_id THEN s.first_kept_event_id ELSE 1 END, s.last_event_id
FROM runs AS r
JOIN sessions AS s ON s.session_id = r.session_id
WHERE r.run_id = $1`,

	Rule: columns.Expand(`
SELECT l.*, (SELECT count(*) FROM requests AS q WHERE q.rule_id = l.rule_id)
FROM rules AS l WHERE l.rule_id = $1`),

	SessionOf: `SELECT r.session_id FROM runs AS r WHERE r.run_id = $1`,

	RuleVersion: `SELECT v.version FROM rule_versions AS v WHERE v.session_id = $1`,

	RuleChanges: `
SELECT c.version, c.previous, c.rule_id FROM rule_changes AS c
WHERE c.version > $1 ORDER BY c.version, c.rule_id LIMIT CAST($2 AS bigint)`,
}

// Vitals returns the statement [Counts.Vitals] of an engine, from the expression of its current time, what
// comes before the statement, and the parts that only this engine has. A message to a person may be held back
// on purpose, so until its first attempt it ages from when it is due, not from when it was created. So does one that is held
// after an attempt that was interrupted. Its error is the reason, or none, and it is due later than a claim ends
// (model.WebhookLeaseMs). A person who is at their inbox holds it for a shorter time, so after a single attempt the reason is enough.
// An effect that is carried out later counts once it has failed twice, even while it is due again: its age must not drop with each
// retry. Before that, it counts while it is due, and ages from then.
func Vitals(before, now, more string) string {
	const held, later = "'" + model.HeldAtInbox + "', '" + model.HeldByFlood + "'", "e.kind IN ('advance_request', 'cancel_abandoned')"
	return before + `
SELECT 'waits' AS counted, counted.kind, CAST(counted.age AS bigint), count(*), min(counted.created_at_ms)
FROM (
	SELECT q.kind, q.created_at_ms, CASE
		WHEN q.created_at_ms > ` + now + ` - 60000 THEN 0
		WHEN q.created_at_ms > ` + now + ` - 3600000 THEN 1
		WHEN q.created_at_ms > ` + now + ` - 86400000 THEN 2
		WHEN q.created_at_ms > ` + now + ` - 604800000 THEN 3
		ELSE 4 END AS age
	FROM requests AS q
	WHERE q.outcome IS NULL AND q.kind IN ('approval', 'question')
	LIMIT CAST($1 AS bigint)
) AS counted
GROUP BY counted.kind, counted.age
UNION ALL
SELECT 'owed', counted.kind, 0, count(*), min(counted.since_ms)
FROM (
	SELECT e.kind, CASE
		WHEN ` + later + ` AND e.attempts > 1 AND coalesce(e.last_error, '') NOT IN ('', '` + model.HeldByViewer + `') THEN e.created_at_ms
		WHEN ` + later + ` THEN CASE WHEN e.due_at_ms <= ` + now + ` THEN e.due_at_ms END
		WHEN e.kind = 'notify' AND (
			e.attempts = 0
			OR e.attempts = 1 AND coalesce(e.last_error, '') IN (` + held + `)
			OR e.due_at_ms > ` + now + ` + 30000 AND coalesce(e.last_error, '') IN ('', ` + held + `)
		) THEN e.due_at_ms
		ELSE e.created_at_ms END AS since_ms
	FROM effects AS e WHERE e.due_at_ms IS NOT NULL LIMIT CAST($1 AS bigint)
) AS counted
WHERE counted.since_ms IS NOT NULL
GROUP BY counted.kind
UNION ALL
SELECT 'given_up', counted.kind, 0, count(*), min(counted.created_at_ms)
FROM (SELECT e.kind, e.created_at_ms FROM effects AS e WHERE e.state = 'failed' LIMIT CAST($1 AS bigint)) AS counted
GROUP BY counted.kind
UNION ALL
SELECT 'claimable', '', 0, count(*), coalesce(min(counted.claimable_at_ms), 0)
FROM (
	SELECT r.claimable_at_ms FROM runs AS r WHERE r.claimable_at_ms <= ` + now + `
	ORDER BY r.claimable_at_ms LIMIT CAST($1 AS bigint)
) AS counted
UNION ALL
SELECT 'overdue', '', 0, count(*), coalesce(min(counted.due_at_ms), 0)
FROM (SELECT q.due_at_ms FROM requests AS q WHERE q.due_at_ms <= ` + now + ` ORDER BY q.due_at_ms LIMIT CAST($1 AS bigint)) AS counted
UNION ALL
SELECT 'dead_letters', '', 0, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (
	SELECT m.created_at_ms FROM messages AS m
	WHERE m.acknowledged_at_ms IS NULL AND m.state = 'dead_letter' LIMIT CAST($1 AS bigint)
) AS counted` + more + `
UNION ALL
SELECT 'rules', '', 0, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (
	SELECT r.created_at_ms FROM rules AS r
	WHERE r.revoked_at_ms IS NULL AND (r.expires_at_ms IS NULL OR r.expires_at_ms > ` + now + `) AND (r.max_uses IS NULL OR r.uses < r.max_uses)
	LIMIT CAST($1 AS bigint)
) AS counted`
}
