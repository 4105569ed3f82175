-- +goose Up

-- The version of the rules of a session, and of those of all sessions ('*'): it grows with
-- each change of a rule that is not about one exact input. Rules are matched before a decision
-- begins, and the decision compares this one number.
CREATE TABLE rule_versions (
    session_id TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    CONSTRAINT rule_versions_pkey PRIMARY KEY (session_id),
    CONSTRAINT rule_versions_positive CHECK (version > 0)
) STRICT, WITHOUT ROWID;

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

-- A rule that has globs beside its digest is not found by the digest: globs are not matched
-- where that is looked up.
UPDATE rules SET input_digest = NULL WHERE input_digest IS NOT NULL AND match LIKE '%"params":{%';

INSERT INTO rule_versions (session_id, version)
SELECT DISTINCT l.session_id, 1 FROM rules AS l WHERE l.input_digest IS NULL AND l.revoked_at_ms IS NULL
ON CONFLICT (session_id) DO NOTHING;

-- +goose Down

DROP TRIGGER rules_added;
DROP TRIGGER rules_changed;
DROP TABLE rule_versions;
-- Rules with globs beside a digest stay without the copy of the digest, by which the earlier
-- version finds them among the others.
