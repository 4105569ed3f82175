-- +goose Up

-- The links in messages: each leads one person to one request. A row has the hash of the link's secret and of
-- the code that was printed next to the link; code_hash is empty for a link without a code. tries counts wrong
-- codes.
CREATE TABLE links (
    token_hash     TEXT    NOT NULL,
    principal      TEXT    NOT NULL,
    address_id     TEXT    NOT NULL,
    channel        TEXT    NOT NULL,
    session_id     TEXT    NOT NULL,
    request_handle TEXT    NOT NULL,
    code_hash      TEXT    NOT NULL,
    tries          INTEGER NOT NULL,
    locked_at_ms   INTEGER NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    CONSTRAINT links_pkey PRIMARY KEY (token_hash)
) STRICT;

CREATE INDEX links_of_person ON links (principal);
CREATE INDEX links_expire ON links (expires_at_ms);

-- +goose Down

DROP TABLE links;
