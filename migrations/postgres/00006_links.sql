-- +goose Up

-- The links in messages: each leads one person to one request. A row has the hash of the link's secret and of
-- the code that was printed next to the link; code_hash is empty for a link without a code. tries counts wrong
-- codes.
CREATE TABLE links (
    tries          bigint NOT NULL,
    locked_at_ms   bigint NOT NULL,
    created_at_ms  bigint NOT NULL,
    expires_at_ms  bigint NOT NULL,
    token_hash     text COLLATE "C" NOT NULL,
    principal      text COLLATE "C" NOT NULL,
    address_id     text COLLATE "C" NOT NULL,
    channel        text COLLATE "C" NOT NULL,
    session_id     text COLLATE "C" NOT NULL,
    request_handle text COLLATE "C" NOT NULL,
    code_hash      text NOT NULL,
    CONSTRAINT links_pkey PRIMARY KEY (token_hash)
);

CREATE INDEX links_of_person ON links (principal);
CREATE INDEX links_expire ON links (expires_at_ms);

-- +goose Down

DROP TABLE links;
