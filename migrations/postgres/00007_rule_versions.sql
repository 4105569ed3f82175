-- +goose Up

-- The version of the rules of a session, and of those of all sessions ('*'): it grows with
-- each change of a rule that is not about one exact input. Rules are matched before a decision
-- takes its locks, and the decision compares this one number. A trigger counts, so that a
-- replica of an earlier version counts as well.
CREATE TABLE rule_versions (
    version    bigint NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    CONSTRAINT rule_versions_pkey PRIMARY KEY (session_id),
    CONSTRAINT rule_versions_positive CHECK (version > 0)
) WITH (
    fillfactor = 50
);

-- A rule that has globs beside its digest is not found by the digest: globs are not matched
-- where that is looked up. Before the triggers, whose locks would be held meanwhile.
UPDATE rules SET input_digest = NULL WHERE input_digest IS NOT NULL AND match LIKE '%"params":{%';

-- +goose StatementBegin
CREATE FUNCTION count_rule_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Sorted, so that two transactions never wait for each other.
    INSERT INTO rule_versions (session_id, version)
    SELECT DISTINCT c.session_id, 1 FROM changed AS c WHERE c.input_digest IS NULL ORDER BY c.session_id
    ON CONFLICT (session_id) DO UPDATE SET version = rule_versions.version + 1;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER rules_added AFTER INSERT ON rules
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rule_changes();
CREATE TRIGGER rules_changed AFTER UPDATE ON rules
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rule_changes();

INSERT INTO rule_versions (session_id, version)
SELECT DISTINCT l.session_id, 1 FROM rules AS l WHERE l.input_digest IS NULL AND l.revoked_at_ms IS NULL
ON CONFLICT (session_id) DO NOTHING;

-- +goose Down

DROP TRIGGER rules_added ON rules;
DROP TRIGGER rules_changed ON rules;
DROP FUNCTION count_rule_changes();
DROP TABLE rule_versions;
-- Rules with globs beside a digest stay without the copy of the digest, by which the earlier
-- version finds them among the others.
