-- +goose Up

-- What was decided, by whom: the list of decisions, newest first. The conventions are
-- those of the first step. A column without a default costs no rewrite.
ALTER TABLE requests ADD COLUMN resolved_by text COLLATE "C";

-- Resolutions with escapes that Postgres may refuse to read are left out: those are shown
-- in the list, and not found by the name of who decided.
UPDATE requests SET resolved_by = resolution::json ->> 'resolved_by'
WHERE resolution IS NOT NULL AND position('\u' IN resolution) = 0;

-- The list of all decisions, and that of one session; the server sorts those of one
-- moment. Open requests have no settled_at_ms and are not in them.
CREATE INDEX requests_settled ON requests (settled_at_ms) WHERE settled_at_ms IS NOT NULL;
CREATE INDEX requests_settled_of_session ON requests (session_id, settled_at_ms) WHERE settled_at_ms IS NOT NULL;

-- Runs whose holder keeps its lease while they wait: few among those that wait.
CREATE INDEX runs_attached ON runs (run_id) WHERE attached;

ANALYZE requests;

-- +goose Down

DROP INDEX runs_attached;
DROP INDEX requests_settled_of_session;
DROP INDEX requests_settled;
ALTER TABLE requests DROP COLUMN resolved_by;
