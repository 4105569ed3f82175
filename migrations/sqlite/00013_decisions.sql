-- +goose Up

-- What was decided, by whom: the list of decisions, newest first.
ALTER TABLE requests ADD COLUMN resolved_by TEXT;

UPDATE requests SET resolved_by = json_extract(resolution, '$.resolved_by')
WHERE resolution IS NOT NULL AND json_valid(resolution);

-- The list of all decisions, and that of one session.
CREATE INDEX requests_settled ON requests (settled_at_ms, handle) WHERE settled_at_ms IS NOT NULL;
CREATE INDEX requests_settled_of_session ON requests (session_id, settled_at_ms, handle) WHERE settled_at_ms IS NOT NULL;

-- Runs whose holder keeps its lease while they wait: few among those that wait.
CREATE INDEX runs_attached ON runs (lease_expires_at_ms) WHERE attached = 1;

-- +goose Down

DROP INDEX runs_attached;
DROP INDEX requests_settled_of_session;
DROP INDEX requests_settled;
ALTER TABLE requests DROP COLUMN resolved_by;
