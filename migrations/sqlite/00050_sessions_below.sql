-- +goose Up

-- The live sessions below a session.
CREATE INDEX sessions_below ON sessions (parent_session_id) WHERE parent_session_id <> '' AND ended_at_ms IS NULL;

-- +goose Down

DROP INDEX sessions_below;
