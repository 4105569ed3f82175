-- +goose NO TRANSACTION
-- +goose Up

-- An id of a session may be used again once retention has deleted the session, and a restored or
-- recovered database may go back behind what a replica remembers. Versions therefore never recur:
-- the program and the triggers let them grow by random steps, from a random start. life is the hash
-- of the session's first event. It tells the session from an earlier one with the same id.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS life text COLLATE "C";

-- Writers other than the door count the version by one, here and in the triggers of other tables.
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
    IF TG_OP = 'UPDATE' AND current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' AND NEW.version IN (OLD.version, OLD.version + 1) THEN
        NEW.version := OLD.version + 1 + floor(random() * 4294967296)::bigint;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.last_event_hash = OLD.last_event_hash AND NEW.last_event_id <> OLD.last_event_id THEN
        NEW.last_event_hash := NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- The versions of rules do not recur either. Each line of rule_changes names the version before its
-- own, so that a reader notices a missing line.
ALTER TABLE rule_changes ADD COLUMN IF NOT EXISTS previous bigint NOT NULL DEFAULT 0;
UPDATE rule_changes SET previous = version - 1 WHERE previous = 0;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_rule_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    step bigint := 1 + floor(random() * 4294967296)::bigint;
BEGIN
    -- Sorted, so that two transactions never wait for each other.
    WITH counted AS (
        INSERT INTO rule_versions (session_id, version)
        SELECT DISTINCT c.session_id, 1 + floor(random() * 1152921504606846976)::bigint
        FROM (SELECT DISTINCT session_id FROM changed WHERE input_digest IS NULL) AS c ORDER BY c.session_id
        ON CONFLICT (session_id) DO UPDATE SET version = rule_versions.version + step
        RETURNING session_id, version
    )
    INSERT INTO rule_changes (version, previous, rule_id)
    SELECT v.version, v.version - step, c.rule_id FROM counted AS v JOIN changed AS c ON c.session_id = v.session_id
    WHERE v.session_id = '*' AND c.input_digest IS NULL;
    -- The last 1,000 lines stay. Old ones are looked for after one change in 16.
    IF FOUND AND random() < 0.0625 THEN
        DELETE FROM rule_changes WHERE version < (SELECT n.version FROM rule_changes AS n ORDER BY n.version DESC OFFSET 1000 LIMIT 1);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_rule_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Sorted, so that two transactions never wait for each other.
    WITH counted AS (
        INSERT INTO rule_versions (session_id, version)
        SELECT DISTINCT c.session_id, 1 FROM changed AS c WHERE c.input_digest IS NULL ORDER BY c.session_id
        ON CONFLICT (session_id) DO UPDATE SET version = rule_versions.version + 1
        RETURNING session_id, version
    )
    INSERT INTO rule_changes (version, rule_id)
    SELECT v.version, c.rule_id FROM counted AS v JOIN changed AS c ON c.session_id = v.session_id
    WHERE v.session_id = '*' AND c.input_digest IS NULL;
    IF FOUND THEN
        DELETE FROM rule_changes WHERE version <= (SELECT v.version - 1000 FROM rule_versions AS v WHERE v.session_id = '*');
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

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

-- A reader of the earlier version takes the versions for consecutive, misses some, and reads all rules.
ALTER TABLE rule_changes DROP COLUMN IF EXISTS previous;
-- What tells a session from an earlier one with its id is deleted.
ALTER TABLE sessions DROP COLUMN IF EXISTS life;
