-- +goose Up

-- What may be claimed, now or when a lease ends: one row for each run that has
-- claimable_at_ms. It changes with every claim, so no index of runs may hold it: the server
-- could then keep no new version of a run beside the old one (see sessions in the first
-- step). Triggers write these rows, whoever changes the run.
CREATE TABLE claimable_runs (
    claimable_at_ms bigint NOT NULL,
    session_id      text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    CONSTRAINT claimable_runs_pkey PRIMARY KEY (session_id, run_id)
) WITH (
    -- Rows come and go; few are there at a time.
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000
);

-- Oldest first: of all agents, and of one. Workers of one agent must not have to step over
-- the backlog of the others. They do not hold run_id: while the table is small the planner
-- would walk such an index to find one run.
CREATE INDEX claimable_runs_oldest ON claimable_runs (claimable_at_ms);
CREATE INDEX claimable_runs_of_agent ON claimable_runs (agent_id, claimable_at_ms);

-- +goose StatementBegin
CREATE FUNCTION holdpoint_run_claimable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO claimable_runs (session_id, run_id, agent_id, claimable_at_ms)
    VALUES (NEW.session_id, NEW.run_id, NEW.agent_id, NEW.claimable_at_ms)
    ON CONFLICT (session_id, run_id) DO UPDATE SET claimable_at_ms = excluded.claimable_at_ms;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION holdpoint_run_not_claimable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM claimable_runs WHERE session_id = OLD.session_id AND run_id = OLD.run_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION holdpoint_runs_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE claimable_runs;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER runs_made_claimable AFTER INSERT ON runs FOR EACH ROW
    WHEN (NEW.claimable_at_ms IS NOT NULL) EXECUTE FUNCTION holdpoint_run_claimable();
CREATE TRIGGER runs_became_claimable AFTER UPDATE ON runs FOR EACH ROW
    WHEN (NEW.claimable_at_ms IS NOT NULL AND OLD.claimable_at_ms IS DISTINCT FROM NEW.claimable_at_ms)
    EXECUTE FUNCTION holdpoint_run_claimable();
CREATE TRIGGER runs_no_longer_claimable AFTER UPDATE ON runs FOR EACH ROW
    WHEN (NEW.claimable_at_ms IS NULL AND OLD.claimable_at_ms IS NOT NULL)
    EXECUTE FUNCTION holdpoint_run_not_claimable();
CREATE TRIGGER claimable_runs_deleted AFTER DELETE ON runs FOR EACH ROW
    WHEN (OLD.claimable_at_ms IS NOT NULL) EXECUTE FUNCTION holdpoint_run_not_claimable();
CREATE TRIGGER claimable_runs_truncated AFTER TRUNCATE ON runs FOR EACH STATEMENT EXECUTE FUNCTION holdpoint_runs_truncated();

-- +goose Down

DROP TRIGGER claimable_runs_truncated ON runs;
DROP TRIGGER claimable_runs_deleted ON runs;
DROP TRIGGER runs_no_longer_claimable ON runs;
DROP TRIGGER runs_became_claimable ON runs;
DROP TRIGGER runs_made_claimable ON runs;
DROP FUNCTION holdpoint_runs_truncated();
DROP FUNCTION holdpoint_run_not_claimable();
DROP FUNCTION holdpoint_run_claimable();
DROP TABLE claimable_runs;
