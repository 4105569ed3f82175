-- +goose NO TRANSACTION
-- +goose Up

-- What was decided, by whom: the list of decisions, newest first. The conventions are
-- those of the first step. A column without a default costs no rewrite.
ALTER TABLE requests ADD COLUMN IF NOT EXISTS resolved_by text COLLATE "C";

-- What is settled is never written again, so nobody waits for these rows.
-- Resolutions with escapes that Postgres may refuse to read are left out: those are shown
-- in the list, and not found by the name of who decided.
UPDATE requests SET resolved_by = resolution::json ->> 'resolved_by'
WHERE resolution IS NOT NULL AND position('\u' IN resolution) = 0;

-- The list of all decisions, and that of one session; the server sorts those of one
-- moment. Open requests have no settled_at_ms and are not in them.
DROP INDEX CONCURRENTLY IF EXISTS requests_settled;
CREATE INDEX CONCURRENTLY requests_settled ON requests (settled_at_ms) WHERE settled_at_ms IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS requests_settled_of_session;
CREATE INDEX CONCURRENTLY requests_settled_of_session ON requests (session_id, settled_at_ms) WHERE settled_at_ms IS NOT NULL;

-- Runs whose holder keeps its lease while they wait: few among those that wait.
DROP INDEX CONCURRENTLY IF EXISTS runs_attached;
CREATE INDEX CONCURRENTLY runs_attached ON runs (run_id) WHERE attached;

ANALYZE requests;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS runs_attached;
DROP INDEX CONCURRENTLY IF EXISTS requests_settled_of_session;
DROP INDEX CONCURRENTLY IF EXISTS requests_settled;
ALTER TABLE requests DROP COLUMN IF EXISTS resolved_by;
