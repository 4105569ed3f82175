-- +goose Up

-- Who has verified an address that only one person may have.
CREATE INDEX addresses_verified ON addresses (channel, address) WHERE verified_at_ms > 0;

-- +goose Down

DROP INDEX addresses_verified;
