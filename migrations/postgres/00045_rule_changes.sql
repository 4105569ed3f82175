-- +goose Up

-- Which rules of all sessions each of the last versions changed, so that a process that knows a
-- version reads these and not all. The trigger that counts the versions writes it, so that a
-- replica of an earlier version does as well. Every version has a line: whoever misses one reads
-- all rules.
CREATE TABLE rule_changes (
    version bigint NOT NULL,
    rule_id text COLLATE "C" NOT NULL,
    CONSTRAINT rule_changes_pkey PRIMARY KEY (version, rule_id)
);

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

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_rule_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Sorted, so that two transactions never wait for each other.
    INSERT INTO rule_versions (session_id, version)
    SELECT DISTINCT c.session_id, 1 FROM changed AS c WHERE c.input_digest IS NULL ORDER BY c.session_id
    ON CONFLICT (session_id) DO UPDATE SET version = rule_versions.version + 1;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
DROP TABLE rule_changes;
