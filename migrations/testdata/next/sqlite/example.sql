-- +goose Up

-- The same step as for Postgres. SQLite has one process, which decides nothing meanwhile.
ALTER TABLE sessions ADD COLUMN example INTEGER NOT NULL DEFAULT 0
    CONSTRAINT sessions_example_not_negative CHECK (example >= 0);
UPDATE sessions SET example = last_event_id;
CREATE INDEX runs_example ON runs (kind, submitted_at_ms);

-- +goose Down

DROP INDEX runs_example;
ALTER TABLE sessions DROP COLUMN example;
