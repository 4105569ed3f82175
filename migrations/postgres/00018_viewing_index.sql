-- +goose NO TRANSACTION
-- +goose Up

-- Who has a request open now.
SET lock_timeout = 0; -- see 00004
DROP INDEX CONCURRENTLY IF EXISTS presence_viewing;
CREATE INDEX CONCURRENTLY presence_viewing ON presence (until_ms) WHERE request_handle <> '';

-- +goose Down

SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS presence_viewing;
