package postgres

import "github.com/holdpoint/holdpoint/store/read"

// countStatements count rows of all sessions, for metrics and the limits of principals.
var countStatements = read.Counts{
	Vitals: `
WITH clock AS (SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now_ms)
SELECT 'waits'::text, counted.kind, counted.age::bigint, count(*), min(counted.created_at_ms)
FROM (
	SELECT q.kind, q.created_at_ms, CASE
		WHEN q.created_at_ms > clock.now_ms - 60000 THEN 0
		WHEN q.created_at_ms > clock.now_ms - 3600000 THEN 1
		WHEN q.created_at_ms > clock.now_ms - 86400000 THEN 2
		WHEN q.created_at_ms > clock.now_ms - 604800000 THEN 3
		ELSE 4 END AS age
	FROM requests AS q, clock
	WHERE q.outcome IS NULL AND q.kind IN ('approval', 'question')
	LIMIT $1::bigint
) AS counted
GROUP BY counted.kind, counted.age
UNION ALL
SELECT 'owed', counted.kind, 0::bigint, count(*), min(counted.created_at_ms)
FROM (SELECT e.kind, e.created_at_ms FROM effects AS e WHERE e.due_at_ms IS NOT NULL LIMIT $1::bigint) AS counted
GROUP BY counted.kind
UNION ALL
SELECT 'given_up', counted.kind, 0::bigint, count(*), min(counted.created_at_ms)
FROM (SELECT e.kind, e.created_at_ms FROM effects AS e WHERE e.state = 'failed' LIMIT $1::bigint) AS counted
GROUP BY counted.kind
UNION ALL
SELECT 'claimable', ''::text, 0::bigint, count(*), coalesce(min(counted.claimable_at_ms), 0)
FROM (
	SELECT r.claimable_at_ms FROM runs AS r WHERE r.claimable_at_ms <= (SELECT now_ms FROM clock)
	ORDER BY r.claimable_at_ms LIMIT $1::bigint
) AS counted
UNION ALL
SELECT 'overdue', ''::text, 0::bigint, count(*), coalesce(min(counted.due_at_ms), 0)
FROM (SELECT q.due_at_ms FROM requests AS q WHERE q.due_at_ms <= (SELECT now_ms FROM clock) ORDER BY q.due_at_ms LIMIT $1::bigint) AS counted
UNION ALL
SELECT 'dead_letters', ''::text, 0::bigint, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (
	SELECT m.created_at_ms FROM messages AS m
	WHERE m.acknowledged_at_ms IS NULL AND m.state = 'dead_letter' LIMIT $1::bigint
) AS counted
UNION ALL
SELECT 'intake', ''::text, 0::bigint, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (SELECT i.created_at_ms FROM run_intake AS i WHERE i.due_at_ms IS NOT NULL ORDER BY i.due_at_ms LIMIT $1::bigint) AS counted
UNION ALL
SELECT 'refused_runs', ''::text, 0::bigint, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (SELECT i.created_at_ms FROM run_intake AS i WHERE i.state = 'failed' ORDER BY i.intake_id LIMIT $1::bigint) AS counted
UNION ALL
SELECT 'rules', ''::text, 0::bigint, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (
	SELECT r.created_at_ms FROM rules AS r
	WHERE r.revoked_at_ms IS NULL AND (r.expires_at_ms IS NULL OR r.expires_at_ms > (SELECT now_ms FROM clock)) LIMIT $1::bigint
) AS counted`,

	OpenRequestAfter: `
SELECT q.kind, q.session_id, q.run_id, q.request_id
FROM requests AS q
WHERE q.settled_number IS NULL AND (q.kind, q.session_id, q.run_id, q.request_id) > ($1::text, $2::text, $3::text, $4::text)
ORDER BY q.kind, q.session_id, q.run_id, q.request_id
LIMIT 1 OFFSET $5::bigint`,

	// Whatever the estimate, look up the runs of a few thousand requests one by one.
	PromptsOf: `
SELECT coalesce(r.holder_principal, r.principal, ''), count(*)
FROM (
	SELECT one.session_id, one.run_id FROM requests AS one
	WHERE one.settled_number IS NULL AND (one.kind, one.session_id, one.run_id, one.request_id) > ($1::text, $2::text, $3::text, $4::text)
		AND (one.kind, one.session_id, one.run_id, one.request_id) <= ($5::text, $6::text, $7::text, $8::text)
	ORDER BY one.kind, one.session_id, one.run_id, one.request_id OFFSET 0
) AS q
CROSS JOIN LATERAL (
	SELECT one.holder_principal, one.principal FROM runs AS one
	WHERE one.session_id = q.session_id AND one.run_id = q.run_id OFFSET 0
) AS r
GROUP BY 1`,

	UnfinishedRunAfter: `
SELECT r.submitted_at_ms FROM runs AS r
WHERE coalesce(r.finished_at_ms, 0) = 0 AND r.submitted_at_ms > $1::bigint
ORDER BY r.submitted_at_ms LIMIT 1 OFFSET $2::bigint`,

	QueuedOf: `
SELECT coalesce(r.principal, ''), count(*) FROM runs AS r
WHERE coalesce(r.finished_at_ms, 0) = 0 AND r.submitted_at_ms > $1::bigint AND r.submitted_at_ms <= $2::bigint AND r.status = 'queued'
GROUP BY 1`,
}
