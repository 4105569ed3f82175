-- +goose NO TRANSACTION
-- +goose Up

-- The data key of a run, encrypted, while it has sensitive values; and these, encrypted with it. An
-- index that was left unfinished is dropped first.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS data_key text;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS sealed text;
DROP INDEX CONCURRENTLY IF EXISTS runs_data_keys;
CREATE INDEX CONCURRENTLY runs_data_keys ON runs (run_id) WHERE data_key IS NOT NULL;

-- +goose Down

-- Sensitive values that are still needed are lost: those who wait for them get what stands for them.
DROP INDEX CONCURRENTLY IF EXISTS runs_data_keys;
ALTER TABLE requests DROP COLUMN IF EXISTS sealed;
ALTER TABLE runs DROP COLUMN IF EXISTS data_key;
