-- +goose NO TRANSACTION
-- +goose Up

-- The credentials of a person, to whom a link of a message belongs.
SET lock_timeout = 0; -- see 00004
DROP INDEX CONCURRENTLY IF EXISTS tokens_principal;
CREATE INDEX CONCURRENTLY tokens_principal ON tokens (principal, token_id) WHERE revoked_at_ms IS NULL;

-- +goose Down

SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS tokens_principal;
