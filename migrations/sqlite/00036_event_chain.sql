-- +goose Up

-- Each event has who caused it, the digest of its body, and the hash of the event before it; the
-- session has the hash of the newest. Events that are there are in no chain.
ALTER TABLE events ADD COLUMN actor TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN body_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN prev TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN last_event_hash TEXT;

-- +goose Down

-- What shows that no event was changed is deleted.
ALTER TABLE sessions DROP COLUMN last_event_hash;
ALTER TABLE events DROP COLUMN prev;
ALTER TABLE events DROP COLUMN body_digest;
ALTER TABLE events DROP COLUMN actor;
