-- +goose Up

-- The credentials of a person, to whom a link of a message belongs.
CREATE INDEX tokens_principal ON tokens (principal, token_id) WHERE revoked_at_ms IS NULL;

-- +goose Down

DROP INDEX tokens_principal;
