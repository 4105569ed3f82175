-- +goose NO TRANSACTION
-- +goose Up

-- Who has verified an address that only one person may have.
SET lock_timeout = 0; -- see 00004
DROP INDEX CONCURRENTLY IF EXISTS addresses_verified;
CREATE INDEX CONCURRENTLY addresses_verified ON addresses (channel, address) WHERE verified_at_ms > 0;

-- +goose Down

SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS addresses_verified;
