-- +goose Up

-- As with sessions and requests in the steps before: 8 of the 21 µs in which one run is updated.
-- +goose StatementBegin
CREATE FUNCTION holdpoint_run_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    finished boolean := NEW.finished_at_ms IS NOT NULL;
    leased boolean := NEW.lease_expires_at_ms IS NOT NULL;
    claimable boolean := NEW.claimable_at_ms IS NOT NULL;
    broken text COLLATE "C" := CASE
        WHEN (NEW.run_id <> '') IS FALSE THEN 'runs_run_id_given'
        WHEN (NEW.status IN (
            'queued', 'running', 'waiting_for_approval', 'waiting_for_user_question',
            'completed', 'failed', 'interrupted', 'cancelled')) IS FALSE THEN 'runs_status_known'
        WHEN (NEW.lease_end IN ('released', 'suspended', 'completed', 'failed', 'revoked')) IS FALSE THEN 'runs_lease_end_known'
        WHEN (NEW.attempt >= 0 AND NEW.stalled_attempts >= 0 AND NEW.fence >= 0 AND NEW.question_count >= 0 AND NEW.output_count >= 0) IS FALSE THEN 'runs_counts_not_negative'
        WHEN (NEW.first_event_id BETWEEN 1 AND NEW.last_event_id) IS FALSE THEN 'runs_events_in_order'
        WHEN (NEW.settled_count BETWEEN 0 AND NEW.raised_count) IS FALSE THEN 'runs_settled_were_raised'
        WHEN (NEW.resume_after BETWEEN 0 AND NEW.settled_count) IS FALSE THEN 'runs_resume_of_settled'
        WHEN (finished = (NEW.status IN ('completed', 'failed', 'interrupted', 'cancelled'))) IS FALSE THEN 'runs_finished_when_over'
        WHEN (NEW.output IS NULL OR NEW.status = 'completed') IS FALSE THEN 'runs_output_of_completed'
        WHEN (NOT finished OR NOT (leased OR claimable OR NEW.attached)) IS FALSE THEN 'runs_over_is_not_held'
        WHEN (NEW.status <> 'queued' OR NEW.fence = 0 AND NOT leased AND NEW.started_at_ms IS NULL) IS FALSE THEN 'runs_queued_was_never_held'
        WHEN (NEW.status <> 'running' OR claimable) IS FALSE THEN 'runs_running_is_claimable'
        WHEN (NEW.status NOT IN ('waiting_for_approval', 'waiting_for_user_question')
            OR NOT claimable AND (NOT leased OR NEW.attached)) IS FALSE THEN 'runs_waiting_is_not_claimable'
        WHEN (NOT leased OR NEW.fence > 0 AND NEW.worker_id IS NOT NULL) IS FALSE THEN 'runs_lease_has_holder'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'runs', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "runs" violates check constraint "%s"', broken);
    END IF;
    IF TG_OP = 'INSERT' AND claimable OR TG_OP = 'UPDATE' AND NEW.claimable_at_ms IS DISTINCT FROM OLD.claimable_at_ms THEN
        IF claimable THEN
            INSERT INTO claimable_runs (session_id, run_id, agent_id, claimable_at_ms)
            VALUES (NEW.session_id, NEW.run_id, NEW.agent_id, NEW.claimable_at_ms)
            ON CONFLICT (session_id, run_id) DO UPDATE SET claimable_at_ms = excluded.claimable_at_ms;
        ELSE
            DELETE FROM claimable_runs WHERE session_id = OLD.session_id AND run_id = OLD.run_id;
        END IF;
    END IF;
    IF current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' THEN
        UPDATE sessions SET version = version + 1 WHERE session_id = NEW.session_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

ALTER TABLE runs DROP CONSTRAINT runs_legal;
DROP TRIGGER runs_changed ON runs;
DROP TRIGGER runs_made_claimable ON runs;
DROP TRIGGER runs_became_claimable ON runs;
DROP TRIGGER runs_no_longer_claimable ON runs;
CREATE TRIGGER runs_written AFTER INSERT OR UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION holdpoint_run_written();

DROP FUNCTION holdpoint_run_claimable;
DROP FUNCTION holdpoint_check_run;

-- +goose Down

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
CREATE FUNCTION holdpoint_check_run(
    run_id text, status text, lease_end text, attempt bigint, stalled_attempts bigint, fence bigint,
    question_count bigint, output_count bigint, first_event_id bigint, last_event_id bigint,
    raised_count bigint, settled_count bigint, resume_after bigint, attached boolean,
    started boolean, finished boolean, leased boolean, claimable boolean, held boolean, has_output boolean
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    broken text COLLATE "C" := CASE
        WHEN (run_id <> '') IS FALSE THEN 'runs_run_id_given'
        WHEN (status IN (
            'queued', 'running', 'waiting_for_approval', 'waiting_for_user_question',
            'completed', 'failed', 'interrupted', 'cancelled')) IS FALSE THEN 'runs_status_known'
        WHEN (lease_end IN ('released', 'suspended', 'completed', 'failed', 'revoked')) IS FALSE THEN 'runs_lease_end_known'
        WHEN (attempt >= 0 AND stalled_attempts >= 0 AND fence >= 0 AND question_count >= 0 AND output_count >= 0) IS FALSE THEN 'runs_counts_not_negative'
        WHEN (first_event_id BETWEEN 1 AND last_event_id) IS FALSE THEN 'runs_events_in_order'
        WHEN (settled_count BETWEEN 0 AND raised_count) IS FALSE THEN 'runs_settled_were_raised'
        WHEN (resume_after BETWEEN 0 AND settled_count) IS FALSE THEN 'runs_resume_of_settled'
        WHEN (finished = (status IN ('completed', 'failed', 'interrupted', 'cancelled'))) IS FALSE THEN 'runs_finished_when_over'
        WHEN (NOT has_output OR status = 'completed') IS FALSE THEN 'runs_output_of_completed'
        WHEN (NOT finished OR NOT (leased OR claimable OR attached)) IS FALSE THEN 'runs_over_is_not_held'
        WHEN (status <> 'queued' OR fence = 0 AND NOT leased AND NOT started) IS FALSE THEN 'runs_queued_was_never_held'
        WHEN (status <> 'running' OR claimable) IS FALSE THEN 'runs_running_is_claimable'
        WHEN (status NOT IN ('waiting_for_approval', 'waiting_for_user_question')
            OR NOT claimable AND (NOT leased OR attached)) IS FALSE THEN 'runs_waiting_is_not_claimable'
        WHEN (NOT leased OR fence > 0 AND held) IS FALSE THEN 'runs_lease_has_holder'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'runs', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "runs" violates check constraint "%s"', broken);
    END IF;
    RETURN true;
END $$;
-- +goose StatementEnd

ALTER TABLE runs
    ADD CONSTRAINT runs_legal CHECK (holdpoint_check_run(
        run_id, status, lease_end, attempt, stalled_attempts, fence, question_count, output_count, first_event_id, last_event_id,
        raised_count, settled_count, resume_after, attached, started_at_ms IS NOT NULL, finished_at_ms IS NOT NULL,
        lease_expires_at_ms IS NOT NULL, claimable_at_ms IS NOT NULL, worker_id IS NOT NULL, output IS NOT NULL)) NOT VALID;
DROP TRIGGER runs_written ON runs;
CREATE TRIGGER runs_changed AFTER INSERT OR UPDATE ON runs FOR EACH ROW
    WHEN (current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_row_changed();
CREATE TRIGGER runs_made_claimable AFTER INSERT ON runs FOR EACH ROW
    WHEN (NEW.claimable_at_ms IS NOT NULL) EXECUTE FUNCTION holdpoint_run_claimable();
CREATE TRIGGER runs_became_claimable AFTER UPDATE ON runs FOR EACH ROW
    WHEN (NEW.claimable_at_ms IS NOT NULL AND OLD.claimable_at_ms IS DISTINCT FROM NEW.claimable_at_ms)
    EXECUTE FUNCTION holdpoint_run_claimable();
CREATE TRIGGER runs_no_longer_claimable AFTER UPDATE ON runs FOR EACH ROW
    WHEN (NEW.claimable_at_ms IS NULL AND OLD.claimable_at_ms IS NOT NULL)
    EXECUTE FUNCTION holdpoint_run_not_claimable();

DROP FUNCTION holdpoint_run_written;
