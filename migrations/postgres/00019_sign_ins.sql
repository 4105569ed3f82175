-- +goose Up

-- The browsers that are signed in, each with a token. Of the cookie there is the SHA-256 alone.
CREATE TABLE sign_ins (
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    cookie_hash   text COLLATE "C" NOT NULL,
    token_id      text COLLATE "C" NOT NULL,
    CONSTRAINT sign_ins_pkey PRIMARY KEY (cookie_hash),
    CONSTRAINT sign_ins_token_fkey FOREIGN KEY (token_id) REFERENCES tokens (token_id),
    CONSTRAINT sign_ins_cookie_hash_given CHECK (length(cookie_hash) = 64)
);

CREATE INDEX sign_ins_token ON sign_ins (token_id, expires_at_ms);
CREATE INDEX sign_ins_expired ON sign_ins (expires_at_ms);

-- +goose Down

-- Everybody signs in again.
DROP TABLE sign_ins;
