-- +goose Up

-- The audit's own log: what changed about who may decide that is no event of a session. A line is
-- written with its change and sealed afterwards, when it has its number and hashes; then it is never
-- changed. Lines are never deleted.
CREATE TABLE audit_entries (
    arrival_id   bigint GENERATED ALWAYS AS IDENTITY,
    entry_id     bigint,
    timestamp_ms bigint NOT NULL,
    type         text COLLATE "C" NOT NULL,
    actor        text COLLATE "C" NOT NULL,
    body_digest  text COLLATE "C" NOT NULL,
    prev         text COLLATE "C",
    hash         text COLLATE "C",
    body         text NOT NULL,
    CONSTRAINT audit_entries_pkey PRIMARY KEY (arrival_id),
    CONSTRAINT audit_entries_entry_id_key UNIQUE (entry_id),
    CONSTRAINT audit_entries_type_given CHECK (type <> ''),
    CONSTRAINT audit_entries_actor_given CHECK (actor <> ''),
    CONSTRAINT audit_entries_body_digest_given CHECK (length(body_digest) = 64),
    CONSTRAINT audit_entries_entry_id_positive CHECK (entry_id > 0),
    CONSTRAINT audit_entries_sealed_whole CHECK (num_nulls(entry_id, prev, hash) IN (0, 3))
);

CREATE INDEX audit_entries_pending ON audit_entries (arrival_id) WHERE entry_id IS NULL;

-- +goose Down

-- What tells who made tokens and rules of all sessions, and who signed in, is deleted.
DROP TABLE audit_entries;
