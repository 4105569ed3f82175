-- +goose NO TRANSACTION
-- +goose Up

-- An example of a later step, for tests: a new column, its backfill, a check and an index. Replicas of
-- the version before decide meanwhile. A step without a transaction is repeated after a lock timeout, so
-- each statement finds what an attempt before it has done.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS example bigint NOT NULL DEFAULT 0;
UPDATE sessions SET example = last_event_id WHERE example = 0;
ALTER TABLE sessions
    DROP CONSTRAINT IF EXISTS sessions_example_not_negative,
    ADD CONSTRAINT sessions_example_not_negative CHECK (example >= 0) NOT VALID;
ALTER TABLE sessions VALIDATE CONSTRAINT sessions_example_not_negative;
-- Making an index waits for every older snapshot of the database, and nobody waits for it.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS runs_example;
CREATE INDEX CONCURRENTLY runs_example ON runs (kind, submitted_at_ms);

-- +goose Down

SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS runs_example;
SET lock_timeout = '1s';
ALTER TABLE sessions DROP COLUMN IF EXISTS example;
