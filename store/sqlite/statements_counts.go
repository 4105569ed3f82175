package sqlite

import "github.com/holdpoint/holdpoint/store/read"

// countStatements count rows of all sessions, for metrics and the limits of principals.
var countStatements = read.Counts{
	Vitals: `
SELECT 'waits', counted.kind, counted.age, count(*), min(counted.created_at_ms)
FROM (
	SELECT q.kind, q.created_at_ms, CASE
		WHEN q.created_at_ms > $2 - 60000 THEN 0
		WHEN q.created_at_ms > $2 - 3600000 THEN 1
		WHEN q.created_at_ms > $2 - 86400000 THEN 2
		WHEN q.created_at_ms > $2 - 604800000 THEN 3
		ELSE 4 END AS age
	FROM requests AS q
	WHERE q.outcome IS NULL AND q.kind IN ('approval', 'question')
	LIMIT $1
) AS counted
GROUP BY counted.kind, counted.age
UNION ALL
SELECT 'owed', counted.kind, 0, count(*), min(counted.created_at_ms)
FROM (SELECT e.kind, e.created_at_ms FROM effects AS e WHERE e.due_at_ms IS NOT NULL LIMIT $1) AS counted
GROUP BY counted.kind
UNION ALL
SELECT 'given_up', counted.kind, 0, count(*), min(counted.created_at_ms)
FROM (SELECT e.kind, e.created_at_ms FROM effects AS e WHERE e.state = 'failed' LIMIT $1) AS counted
GROUP BY counted.kind
UNION ALL
SELECT 'claimable', '', 0, count(*), coalesce(min(counted.claimable_at_ms), 0)
FROM (
	SELECT r.claimable_at_ms FROM runs AS r WHERE r.claimable_at_ms <= $2
	ORDER BY r.claimable_at_ms LIMIT $1
) AS counted
UNION ALL
SELECT 'overdue', '', 0, count(*), coalesce(min(counted.due_at_ms), 0)
FROM (SELECT q.due_at_ms FROM requests AS q WHERE q.due_at_ms <= $2 ORDER BY q.due_at_ms LIMIT $1) AS counted
UNION ALL
SELECT 'dead_letters', '', 0, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (
	SELECT m.created_at_ms FROM messages AS m
	WHERE m.acknowledged_at_ms IS NULL AND m.state = 'dead_letter' LIMIT $1
) AS counted
UNION ALL
SELECT 'rules', '', 0, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (
	SELECT r.created_at_ms FROM rules AS r
	WHERE r.revoked_at_ms IS NULL AND (r.expires_at_ms IS NULL OR r.expires_at_ms > $2) LIMIT $1
) AS counted`,

	OpenRequestAfter: `
SELECT q.kind, q.session_id, q.run_id, q.request_id
FROM requests AS q INDEXED BY requests_open
WHERE q.outcome IS NULL AND (q.kind, q.session_id, q.run_id, q.request_id) > ($1, $2, $3, $4)
ORDER BY q.kind, q.session_id, q.run_id, q.request_id
LIMIT 1 OFFSET $5`,

	PromptsOf: `
SELECT coalesce(r.holder_principal, r.principal, ''), count(*)
FROM requests AS q INDEXED BY requests_open CROSS JOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id
WHERE q.outcome IS NULL AND (q.kind, q.session_id, q.run_id, q.request_id) > ($1, $2, $3, $4)
	AND (q.kind, q.session_id, q.run_id, q.request_id) <= ($5, $6, $7, $8)
GROUP BY 1`,

	UnfinishedRunAfter: `
SELECT r.submitted_at_ms FROM runs AS r INDEXED BY runs_list_unfinished
WHERE r.finished_at_ms IS NULL AND r.submitted_at_ms > $1
ORDER BY r.submitted_at_ms LIMIT 1 OFFSET $2`,

	QueuedOf: `
SELECT coalesce(r.principal, ''), count(*) FROM runs AS r INDEXED BY runs_list_unfinished
WHERE r.finished_at_ms IS NULL AND r.submitted_at_ms > $1 AND r.submitted_at_ms <= $2 AND r.status = 'queued'
GROUP BY 1`,
}
