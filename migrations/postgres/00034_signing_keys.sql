-- +goose Up

-- The public half of every key that a replica signs with, or signed with. Rows are never deleted:
-- what was signed is verified for ever.
CREATE TABLE signing_keys (
    created_at_ms bigint NOT NULL,
    key_id        text COLLATE "C" NOT NULL,
    public_key    text NOT NULL,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (key_id),
    CONSTRAINT signing_keys_key_id_given CHECK (length(key_id) = 43),
    CONSTRAINT signing_keys_public_key_given CHECK (length(public_key) = 43)
);

CREATE INDEX signing_keys_newest ON signing_keys (created_at_ms, key_id);

-- +goose Down

-- What was signed with keys that no replica has any more is verified no longer.
DROP TABLE signing_keys;
