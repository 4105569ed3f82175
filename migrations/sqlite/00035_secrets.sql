-- +goose Up

-- The data key of a run, encrypted, while it has sensitive values; and these, encrypted with it.
ALTER TABLE runs ADD COLUMN data_key TEXT;
ALTER TABLE requests ADD COLUMN sealed TEXT;
CREATE INDEX runs_data_keys ON runs (run_id) WHERE data_key IS NOT NULL;

-- +goose Down

-- Sensitive values that are still needed are lost: those who wait for them get what stands for them.
DROP INDEX runs_data_keys;
ALTER TABLE requests DROP COLUMN sealed;
ALTER TABLE runs DROP COLUMN data_key;
