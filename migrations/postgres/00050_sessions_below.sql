-- +goose NO TRANSACTION
-- +goose Up

-- The live sessions below a session. An index that was left unfinished is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS sessions_below;
CREATE INDEX CONCURRENTLY sessions_below ON sessions (parent_session_id) WHERE parent_session_id <> '' AND ended_at_ms IS NULL;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS sessions_below;
