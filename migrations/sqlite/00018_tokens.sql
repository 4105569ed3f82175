-- +goose Up

-- Who may call. Rows are never deleted, so one row tells that a token was ever made. Of a
-- secret there is the SHA-256 alone.
CREATE TABLE tokens (
    token_id          TEXT    NOT NULL,
    name              TEXT    NOT NULL,
    role              TEXT    NOT NULL,
    principal         TEXT    NOT NULL,
    -- JSON lists of texts; NULL for none.
    groups            TEXT,
    session_prefixes  TEXT,
    agent_ids         TEXT,
    may_act_for       INTEGER NOT NULL,
    may_always        INTEGER NOT NULL,
    hint              TEXT    NOT NULL,
    secret_hash       TEXT    NOT NULL,
    -- The secret before the last rotation.
    previous_hash     TEXT,
    previous_until_ms INTEGER,
    created_at_ms     INTEGER NOT NULL,
    created_by        TEXT    NOT NULL,
    expires_at_ms     INTEGER,
    revoked_at_ms     INTEGER,
    last_used_at_ms   INTEGER,
    idempotency_key   TEXT,
    fingerprint       TEXT,
    CONSTRAINT tokens_pkey PRIMARY KEY (token_id),
    CONSTRAINT tokens_secret_hash_key UNIQUE (secret_hash),
    CONSTRAINT tokens_idempotency_key UNIQUE (created_by, idempotency_key),
    CONSTRAINT tokens_token_id_given CHECK (token_id <> ''),
    CONSTRAINT tokens_role_known CHECK (role IN ('observer', 'agent', 'operator', 'admin')),
    CONSTRAINT tokens_principal_given CHECK (principal <> ''),
    CONSTRAINT tokens_secret_hash_given CHECK (length(secret_hash) = 64),
    CONSTRAINT tokens_previous_whole CHECK ((previous_hash IS NULL) = (previous_until_ms IS NULL)),
    CONSTRAINT tokens_key_whole CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL)),
    CONSTRAINT tokens_admin_unbound CHECK (role <> 'admin' OR (session_prefixes IS NULL AND agent_ids IS NULL))
) STRICT;

CREATE INDEX tokens_previous_hash ON tokens (previous_hash) WHERE previous_hash IS NOT NULL;
-- Whether an admin is the last one.
CREATE INDEX tokens_admins ON tokens (role, token_id) WHERE revoked_at_ms IS NULL;
CREATE INDEX tokens_list ON tokens (created_at_ms, token_id);

-- +goose Down

-- All tokens are deleted: with --auth=auto on a loopback address, whoever calls may decide.
DROP TABLE tokens;
