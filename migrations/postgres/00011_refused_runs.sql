-- +goose NO TRANSACTION
-- +goose Up

-- The runs of run_intake that were refused for good, for their list and their count.
SET lock_timeout = 0; -- see 00004
DROP INDEX CONCURRENTLY IF EXISTS run_intake_refused;
CREATE INDEX CONCURRENTLY run_intake_refused ON run_intake (intake_id) WHERE state = 'failed';

-- +goose Down

SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS run_intake_refused;
