-- +goose Up

-- What is past its horizon is deleted.

-- The number of the session's first event that is kept; NULL while all are.
ALTER TABLE sessions ADD COLUMN first_kept_event_id INTEGER;

-- The runs that are over, the longest over first.
CREATE INDEX runs_finished ON runs (finished_at_ms) WHERE finished_at_ms IS NOT NULL;

-- What still needs a run or a session that is over.
CREATE INDEX runs_of_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX rules_of_source ON rules (source_run_id) WHERE source_run_id IS NOT NULL;
CREATE INDEX sessions_of_parent ON sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;

-- +goose Down

-- Sessions whose first events were deleted then look as if events were missing.
DROP INDEX sessions_of_parent;
DROP INDEX rules_of_source;
DROP INDEX runs_of_parent;
DROP INDEX runs_finished;
ALTER TABLE sessions DROP COLUMN first_kept_event_id;
