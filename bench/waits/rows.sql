-- Suspended runs and as many finished ones, each with a session of its own, as the service writes
-- them; triggers have nothing to add. :count is how many of each.

INSERT INTO sessions (session_id, agent_id, active_run_id, queued_count, last_event_id, version, created_at_ms, updated_at_ms)
SELECT k.kind || '-session-' || n, 'bench', CASE k.kind WHEN 'suspended' THEN k.kind || '-run-' || n END, 0, k.events, k.events, n, n
FROM generate_series(1, :count) AS n, (VALUES ('suspended', 2), ('finished', 6)) AS k (kind, events);

INSERT INTO runs (session_id, run_id, agent_id, kind, status, source_plugin, source_kind, actor_id, question_count, payload_digest,
	submitted_at_ms, started_at_ms, finished_at_ms, updated_at_ms, first_event_id, last_event_id, attempt, stalled_attempts, fence, worker_id,
	lease_end, attached, suspension_id, raised_count, settled_count, resume_after, output_count, output, checkpoint, input)
SELECT k.kind || '-session-' || n, k.kind || '-run-' || n, 'bench', 'message', k.status, 'api', 'api', 'bench', 0, md5(n::text) || md5(n::text),
	n, n, CASE k.kind WHEN 'finished' THEN n END, n, 1, k.events, 1, 0, 1, 'bench',
	k.lease_end, false, 'suspension-' || n, 1, k.settled, k.settled, 0, k.output, '{"step":3}', '{"plan":"clean the build folder"}'
FROM generate_series(1, :count) AS n, (VALUES
	('suspended', 'waiting_for_approval', 2, 'suspended', 0, NULL), ('finished', 'completed', 6, 'completed', 1, '{"ok":true}')
) AS k (kind, status, events, lease_end, settled, output);

INSERT INTO requests (session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body, due_at_ms, created_at_ms,
	outcome, settled_number, resolution, settled_at_ms, resolved_by)
SELECT k.kind || '-session-' || n, k.kind || '-run-' || n, 'approval-1', k.kind || '-handle-' || n, 'suspension-' || n, md5(n::text), 1, 'approval',
	'{"id":"approval-1","tool_call_id":"call-1","tool_name":"bash","input":{"command":"rm -rf build"},"reason":"shell command"}',
	CASE k.kind WHEN 'suspended' THEN 4102444800000 + n END, n, k.outcome, k.settled,
	CASE k.kind WHEN 'finished' THEN '{"request_id":"approval-1","outcome":"allowed","behavior":"allow","resolved_by":"bench"}' END,
	CASE k.kind WHEN 'finished' THEN n END, CASE k.kind WHEN 'finished' THEN 'bench' END
FROM generate_series(1, :count) AS n, (VALUES ('suspended', NULL, NULL), ('finished', 'allowed', 1)) AS k (kind, outcome, settled);

INSERT INTO events (session_id, event_id, run_id, agent_id, type, timestamp_ms, body)
SELECT k.kind || '-session-' || n, e, k.kind || '-run-' || n, 'bench', CASE e WHEN 2 THEN 'waiting_for_approval' ELSE 'run_updated' END, n,
	'{"status":"' || k.kind || '","text":"' || repeat('x', 150) || '"}'
FROM generate_series(1, :count) AS n, (VALUES ('suspended', 2), ('finished', 6)) AS k (kind, events), generate_series(1, k.events) AS e;

INSERT INTO idempotency_records (scope, operation, idempotency_key, fingerprint, session_id, run_id, created_at_ms)
SELECT 'finished-session-' || n, 'approval', 'key-' || n, md5(n::text), 'finished-session-' || n, 'finished-run-' || n, 4102444800000 + n
FROM generate_series(1, :count) AS n;
