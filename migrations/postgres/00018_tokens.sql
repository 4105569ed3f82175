-- +goose Up

-- Who may call. Rows are never deleted, so one row tells that a token was ever made. Of a
-- secret there is the SHA-256 alone.
CREATE TABLE tokens (
    previous_until_ms bigint,
    created_at_ms     bigint  NOT NULL,
    expires_at_ms     bigint,
    revoked_at_ms     bigint,
    last_used_at_ms   bigint,
    may_act_for       boolean NOT NULL,
    may_always        boolean NOT NULL,
    token_id          text COLLATE "C" NOT NULL,
    role              text COLLATE "C" NOT NULL,
    secret_hash       text COLLATE "C" NOT NULL,
    -- The secret before the last rotation.
    previous_hash     text COLLATE "C",
    principal         text COLLATE "C" NOT NULL,
    created_by        text COLLATE "C" NOT NULL,
    idempotency_key   text COLLATE "C",
    fingerprint       text COLLATE "C",
    name              text NOT NULL,
    hint              text NOT NULL,
    -- JSON lists of texts; NULL for none.
    groups            text,
    session_prefixes  text,
    agent_ids         text,
    CONSTRAINT tokens_pkey PRIMARY KEY (token_id),
    CONSTRAINT tokens_secret_hash_key UNIQUE (secret_hash),
    CONSTRAINT tokens_idempotency_key UNIQUE (created_by, idempotency_key),
    CONSTRAINT tokens_token_id_given CHECK (token_id <> ''),
    CONSTRAINT tokens_role_known CHECK (role IN ('observer', 'agent', 'operator', 'admin')),
    CONSTRAINT tokens_principal_given CHECK (principal <> ''),
    CONSTRAINT tokens_secret_hash_given CHECK (length(secret_hash) = 64),
    CONSTRAINT tokens_previous_whole CHECK (num_nulls(previous_hash, previous_until_ms) IN (0, 2)),
    CONSTRAINT tokens_key_whole CHECK (num_nulls(idempotency_key, fingerprint) IN (0, 2)),
    CONSTRAINT tokens_admin_unbound CHECK (role <> 'admin' OR (session_prefixes IS NULL AND agent_ids IS NULL))
);

CREATE INDEX tokens_previous_hash ON tokens (previous_hash) WHERE previous_hash IS NOT NULL;
-- Whether an admin is the last one.
CREATE INDEX tokens_admins ON tokens (role, token_id) WHERE revoked_at_ms IS NULL;
CREATE INDEX tokens_list ON tokens (created_at_ms, token_id);

-- +goose Down

-- All tokens are deleted: with --auth=auto on a loopback address, whoever calls may decide.
DROP TABLE tokens;
