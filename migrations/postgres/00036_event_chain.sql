-- +goose NO TRANSACTION
-- +goose Up

-- A decision takes its session before it writes events, and this takes one table at a time: in one
-- transaction the two would wait for each other.

-- Each event has who caused it, the digest of its body, and the hash of the event before it; the
-- session has the hash of the newest. Events that are there are in no chain.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS last_event_hash text COLLATE "C";
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS actor text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS body_digest text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS prev text COLLATE "C" NOT NULL DEFAULT '';

-- A program that knows no chain writes events beside one that does while replicas are exchanged:
-- then the chain of the session begins anew behind them.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION holdpoint_session_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    broken text COLLATE "C" := CASE
        WHEN (NEW.session_id <> '') IS FALSE THEN 'sessions_session_id_given'
        WHEN (NEW.queued_count >= 0) IS FALSE THEN 'sessions_queued_count_not_negative'
        WHEN (NEW.last_event_id >= 0) IS FALSE THEN 'sessions_last_event_id_not_negative'
        WHEN (NEW.ended_at_ms IS NULL OR NEW.active_run_id IS NULL) IS FALSE THEN 'sessions_ended_is_idle'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'sessions', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "sessions" violates check constraint "%s"', broken);
    END IF;
    IF TG_OP = 'UPDATE' AND current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' AND NEW.version = OLD.version THEN
        NEW.version := OLD.version + 1;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.last_event_hash = OLD.last_event_hash AND NEW.last_event_id <> OLD.last_event_id THEN
        NEW.last_event_hash := NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION holdpoint_session_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    broken text COLLATE "C" := CASE
        WHEN (NEW.session_id <> '') IS FALSE THEN 'sessions_session_id_given'
        WHEN (NEW.queued_count >= 0) IS FALSE THEN 'sessions_queued_count_not_negative'
        WHEN (NEW.last_event_id >= 0) IS FALSE THEN 'sessions_last_event_id_not_negative'
        WHEN (NEW.ended_at_ms IS NULL OR NEW.active_run_id IS NULL) IS FALSE THEN 'sessions_ended_is_idle'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'sessions', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "sessions" violates check constraint "%s"', broken);
    END IF;
    IF TG_OP = 'UPDATE' AND current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' AND NEW.version = OLD.version THEN
        NEW.version := OLD.version + 1;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- What shows that no event was changed is deleted.
ALTER TABLE sessions DROP COLUMN IF EXISTS last_event_hash;
ALTER TABLE events DROP COLUMN IF EXISTS prev, DROP COLUMN IF EXISTS body_digest, DROP COLUMN IF EXISTS actor;
