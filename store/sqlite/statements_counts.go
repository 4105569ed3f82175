package sqlite

import "github.com/holdpoint/holdpoint/store/read"

// countStatements count rows of all sessions, for metrics and the limits of principals.
var countStatements = read.Counts{
	Vitals: read.Vitals("", "$2", ""),

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
