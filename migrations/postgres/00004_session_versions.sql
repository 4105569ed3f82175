-- +goose Up

-- A replica decides from rows that it remembers, and writes only when the session still
-- has the version that it remembers. So whatever changes a row of a session gives the
-- session a new version. The program does so itself; the triggers do so for everybody
-- else: an older replica while a new one starts, or a person with psql. They are skipped
-- where holdpoint.door is set, as the program does on its own connections.
--
-- A constant default costs no rewrite.
ALTER TABLE sessions ADD COLUMN version bigint NOT NULL DEFAULT 0;

-- +goose StatementBegin
CREATE FUNCTION holdpoint_refuse(code text, reason text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = reason;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION holdpoint_session_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION holdpoint_row_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions SET version = version + 1 WHERE session_id = coalesce(NEW.session_id, OLD.session_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER sessions_changed BEFORE UPDATE ON sessions FOR EACH ROW
    WHEN (NEW.version = OLD.version AND current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_session_changed();

CREATE TRIGGER runs_changed AFTER INSERT OR UPDATE ON runs FOR EACH ROW
    WHEN (current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_row_changed();
CREATE TRIGGER requests_changed AFTER INSERT OR UPDATE ON requests FOR EACH ROW
    WHEN (current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_row_changed();
CREATE TRIGGER messages_changed AFTER INSERT OR UPDATE ON messages FOR EACH ROW
    WHEN (current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_row_changed();

-- What is over is not remembered, and may be deleted without a trace.
CREATE TRIGGER runs_deleted AFTER DELETE ON runs FOR EACH ROW
    WHEN (OLD.finished_at_ms IS NULL) EXECUTE FUNCTION holdpoint_row_changed();
CREATE TRIGGER requests_deleted AFTER DELETE ON requests FOR EACH ROW
    WHEN (OLD.settled_number IS NULL) EXECUTE FUNCTION holdpoint_row_changed();

-- +goose Down

DROP TRIGGER requests_deleted ON requests;
DROP TRIGGER runs_deleted ON runs;
DROP TRIGGER messages_changed ON messages;
DROP TRIGGER requests_changed ON requests;
DROP TRIGGER runs_changed ON runs;
DROP TRIGGER sessions_changed ON sessions;
DROP FUNCTION holdpoint_row_changed();
DROP FUNCTION holdpoint_session_changed();
DROP FUNCTION holdpoint_refuse(text, text);
ALTER TABLE sessions DROP COLUMN version;
