-- +goose NO TRANSACTION
-- +goose Up

-- Who has verified an address that only one person may have.
DROP INDEX CONCURRENTLY IF EXISTS addresses_verified;
CREATE INDEX CONCURRENTLY addresses_verified ON addresses (channel, address) WHERE verified_at_ms > 0;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS addresses_verified;
