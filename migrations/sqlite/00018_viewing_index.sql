-- +goose Up

-- Who has a request open now.
CREATE INDEX presence_viewing ON presence (until_ms) WHERE request_handle <> '';

-- +goose Down

DROP INDEX presence_viewing;
