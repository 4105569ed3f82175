-- Hash-partitions the large tables of an empty database, for the experiment in docs/scaling.md.
-- Not a migration: the service does not use it.

-- A table partitioned by session cannot have a unique key without it. A separate table, from the id
-- to the session, enforces each such key. It has the name of the replaced constraint, because the
-- engine recognizes by that name which id was in use.
ALTER TABLE runs DROP CONSTRAINT runs_run_id_key;
ALTER TABLE requests DROP CONSTRAINT requests_handle_key;
CREATE TABLE run_sessions (
    run_id     text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    CONSTRAINT runs_run_id_key PRIMARY KEY (run_id)
);
CREATE TABLE request_sessions (
    handle     text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    CONSTRAINT requests_handle_key PRIMARY KEY (handle)
);
CREATE INDEX runs_by_id ON runs (run_id);
CREATE INDEX requests_by_handle ON requests (handle);

DO $$
DECLARE
    shards   CONSTANT int := 4;
    hot      record;
    made     record;
    commands text[];
    command  text;
BEGIN
    FOR hot IN
        SELECT t.name, t.key FROM (VALUES
            ('sessions', 'session_id'), ('runs', 'session_id'), ('requests', 'session_id'), ('events', 'session_id'),
            ('effects', 'session_id'), ('messages', 'session_id'), ('claimable_runs', 'session_id'), ('idempotency_records', 'scope')
        ) AS t (name, key)
    LOOP
        commands := ARRAY[]::text[];
        FOR made IN
            SELECT pg_get_constraintdef(c.oid) AS definition, c.conname AS name
            FROM pg_constraint AS c WHERE c.conrelid = hot.name::regclass AND c.contype IN ('p', 'u')
        LOOP
            commands := commands || format('ALTER TABLE %I ADD CONSTRAINT %I %s', hot.name, made.name, made.definition);
        END LOOP;
        FOR made IN
            SELECT pg_get_indexdef(i.indexrelid) AS definition
            FROM pg_index AS i
            WHERE i.indrelid = hot.name::regclass AND NOT EXISTS (SELECT FROM pg_constraint AS c WHERE c.conindid = i.indexrelid)
        LOOP
            commands := commands || made.definition;
        END LOOP;
        FOR made IN SELECT pg_get_triggerdef(t.oid) AS definition FROM pg_trigger AS t WHERE t.tgrelid = hot.name::regclass AND NOT t.tgisinternal LOOP
            commands := commands || made.definition;
        END LOOP;
        EXECUTE format('ALTER TABLE %I RENAME TO whole', hot.name);
        EXECUTE format('CREATE TABLE %I (LIKE whole INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING GENERATED) PARTITION BY HASH (%I)', hot.name, hot.key);
        DROP TABLE whole;
        FOR shard IN 0 .. shards - 1 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)', hot.name || '_' || shard, hot.name, shards, shard);
        END LOOP;
        FOREACH command IN ARRAY commands LOOP
            EXECUTE command;
        END LOOP;
    END LOOP;
END $$;

CREATE FUNCTION run_placed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM run_sessions WHERE run_id = OLD.run_id;
    ELSE
        INSERT INTO run_sessions (run_id, session_id) VALUES (NEW.run_id, NEW.session_id);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION request_placed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM request_sessions WHERE handle = OLD.handle;
    ELSE
        INSERT INTO request_sessions (handle, session_id) VALUES (NEW.handle, NEW.session_id);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION placed_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'runs' THEN
        TRUNCATE run_sessions;
    ELSE
        TRUNCATE request_sessions;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER run_placed AFTER INSERT OR DELETE ON runs FOR EACH ROW EXECUTE FUNCTION run_placed();
CREATE TRIGGER request_placed AFTER INSERT OR DELETE ON requests FOR EACH ROW EXECUTE FUNCTION request_placed();
CREATE TRIGGER run_placed_truncated AFTER TRUNCATE ON runs FOR EACH STATEMENT EXECUTE FUNCTION placed_truncated();
CREATE TRIGGER request_placed_truncated AFTER TRUNCATE ON requests FOR EACH STATEMENT EXECUTE FUNCTION placed_truncated();
