-- +goose Up

-- How many attempts of a run's handler have failed and were retried, the last error, how often an operator
-- has retried the run after it failed, and whether a run that is over had sensitive values.
ALTER TABLE runs ADD COLUMN failed_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN last_error TEXT;
ALTER TABLE runs ADD COLUMN secrets_erased INTEGER NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE runs DROP COLUMN secrets_erased;
ALTER TABLE runs DROP COLUMN last_error;
ALTER TABLE runs DROP COLUMN retries;
ALTER TABLE runs DROP COLUMN failed_attempts;
