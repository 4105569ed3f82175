-- +goose Up

-- Which rule of all sessions each of the last versions changed, so that a process that knows a
-- version reads these and not all. Every version has a line: whoever misses one reads all rules.
CREATE TABLE rule_changes (
    version INTEGER NOT NULL,
    rule_id TEXT    NOT NULL,
    CONSTRAINT rule_changes_pkey PRIMARY KEY (version, rule_id)
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER rule_version_counted AFTER UPDATE ON rule_versions WHEN NEW.session_id = '*'
BEGIN
    DELETE FROM rule_changes WHERE version <= NEW.version - 1000;
END;
-- +goose StatementEnd

DROP TRIGGER rules_added;
DROP TRIGGER rules_changed;

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

-- +goose Down

DROP TRIGGER rule_version_counted;
DROP TRIGGER rules_added;
DROP TRIGGER rules_changed;

-- +goose StatementBegin
CREATE TRIGGER rules_added AFTER INSERT ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1)
    ON CONFLICT (session_id) DO UPDATE SET version = version + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER rules_changed AFTER UPDATE ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1)
    ON CONFLICT (session_id) DO UPDATE SET version = version + 1;
END;
-- +goose StatementEnd

DROP TABLE rule_changes;
