-- +goose Up

-- An id of a session may be used again once retention has deleted the session, and a restored
-- database may go back behind what the process remembers. Versions therefore never recur: they grow
-- by random steps, from a random start. life is the hash of the session's first event. It tells the
-- session from an earlier one with the same id.
ALTER TABLE sessions ADD COLUMN life TEXT;

-- Each line names the version before its own, so that a reader notices a missing line.
ALTER TABLE rule_changes ADD COLUMN previous INTEGER NOT NULL DEFAULT 0;
UPDATE rule_changes SET previous = version - 1;

DROP TRIGGER rule_version_counted;
DROP TRIGGER rules_added;
DROP TRIGGER rules_changed;

-- The last 1,000 lines stay. Old ones are looked for after one change in 16.
-- +goose StatementBegin
CREATE TRIGGER rule_version_counted AFTER UPDATE ON rule_versions WHEN NEW.session_id = '*' AND NEW.version % 16 = 0
BEGIN
    DELETE FROM rule_changes WHERE version < (SELECT n.version FROM rule_changes AS n ORDER BY n.version DESC LIMIT 1 OFFSET 1000);
END;
-- +goose StatementEnd

-- The line is written first: it has the version that the next statement counts from.
-- +goose StatementBegin
CREATE TRIGGER rules_added AFTER INSERT ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_changes (version, previous, rule_id)
    SELECT v.version + 1 + (random() & 4294967295), v.version, NEW.rule_id FROM rule_versions AS v
    WHERE v.session_id = NEW.session_id AND NEW.session_id = '*';
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1 + (random() & 1152921504606846975))
    ON CONFLICT (session_id) DO UPDATE SET version = CASE session_id
        WHEN '*' THEN (SELECT max(c.version) FROM rule_changes AS c)
        ELSE version + 1 + (random() & 4294967295)
    END;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER rules_changed AFTER UPDATE ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_changes (version, previous, rule_id)
    SELECT v.version + 1 + (random() & 4294967295), v.version, NEW.rule_id FROM rule_versions AS v
    WHERE v.session_id = NEW.session_id AND NEW.session_id = '*';
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1 + (random() & 1152921504606846975))
    ON CONFLICT (session_id) DO UPDATE SET version = CASE session_id
        WHEN '*' THEN (SELECT max(c.version) FROM rule_changes AS c)
        ELSE version + 1 + (random() & 4294967295)
    END;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER rule_version_counted;
DROP TRIGGER rules_added;
DROP TRIGGER rules_changed;

-- +goose StatementBegin
CREATE TRIGGER rule_version_counted AFTER UPDATE ON rule_versions WHEN NEW.session_id = '*'
BEGIN
    DELETE FROM rule_changes WHERE version <= NEW.version - 1000;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER rules_added AFTER INSERT ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1)
    ON CONFLICT (session_id) DO UPDATE SET version = version + 1;
    INSERT INTO rule_changes (version, rule_id)
    SELECT v.version, NEW.rule_id FROM rule_versions AS v WHERE v.session_id = NEW.session_id AND NEW.session_id = '*';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER rules_changed AFTER UPDATE ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1)
    ON CONFLICT (session_id) DO UPDATE SET version = version + 1;
    INSERT INTO rule_changes (version, rule_id)
    SELECT v.version, NEW.rule_id FROM rule_versions AS v WHERE v.session_id = NEW.session_id AND NEW.session_id = '*';
END;
-- +goose StatementEnd

ALTER TABLE rule_changes DROP COLUMN previous;
-- What tells a session from an earlier one with its id is deleted.
ALTER TABLE sessions DROP COLUMN life;
