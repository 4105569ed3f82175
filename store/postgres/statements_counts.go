package postgres

import "github.com/holdpoint/holdpoint/store/read"

// countStatements count rows of all sessions, for metrics and the limits of principals.
var countStatements = read.Counts{
	Vitals: read.Vitals(`WITH clock AS (SELECT `+nowMs+` AS now_ms)`,
		`(SELECT clock.now_ms FROM clock)`, `
UNION ALL
SELECT 'intake', '', 0, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (SELECT i.created_at_ms FROM run_intake AS i WHERE i.due_at_ms IS NOT NULL ORDER BY i.due_at_ms LIMIT $1::bigint) AS counted
UNION ALL
SELECT 'refused_runs', '', 0, count(*), coalesce(min(counted.created_at_ms), 0)
FROM (SELECT i.created_at_ms FROM run_intake AS i WHERE i.state = 'failed' ORDER BY i.intake_id LIMIT $1::bigint) AS counted`),

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
