-- +goose NO TRANSACTION
-- +goose Up

-- What is past its horizon is deleted. An index that was left unfinished is dropped first.

-- The number of the session's first event that is kept; NULL while all are. A column
-- without a default costs no rewrite.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS first_kept_event_id bigint;

-- The runs that are over, the longest over first.
DROP INDEX CONCURRENTLY IF EXISTS runs_finished;
CREATE INDEX CONCURRENTLY runs_finished ON runs (finished_at_ms) WHERE finished_at_ms > 0;

-- What still needs a run or a session that is over.
DROP INDEX CONCURRENTLY IF EXISTS runs_of_parent;
CREATE INDEX CONCURRENTLY runs_of_parent ON runs (parent_run_id) WHERE parent_run_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS rules_of_source;
CREATE INDEX CONCURRENTLY rules_of_source ON rules (source_run_id) WHERE source_run_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS sessions_of_parent;
CREATE INDEX CONCURRENTLY sessions_of_parent ON sessions (parent_session_id) WHERE parent_session_id <> '';

-- +goose Down

-- Sessions whose first events were deleted then look as if events were missing.
DROP INDEX CONCURRENTLY IF EXISTS sessions_of_parent;
DROP INDEX CONCURRENTLY IF EXISTS rules_of_source;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_parent;
DROP INDEX CONCURRENTLY IF EXISTS runs_finished;
ALTER TABLE sessions DROP COLUMN IF EXISTS first_kept_event_id;
