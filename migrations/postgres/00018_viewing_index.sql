-- +goose NO TRANSACTION
-- +goose Up

-- Who has a request open now.
DROP INDEX CONCURRENTLY IF EXISTS presence_viewing;
CREATE INDEX CONCURRENTLY presence_viewing ON presence (until_ms) WHERE request_handle <> '';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS presence_viewing;
