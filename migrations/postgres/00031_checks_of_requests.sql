-- +goose Up

-- As with sessions in the step before: 18 of the 27 µs in which one request is settled.
-- +goose StatementBegin
CREATE FUNCTION holdpoint_request_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    broken text COLLATE "C" := CASE
        WHEN (NEW.request_id <> '') IS FALSE THEN 'requests_request_id_given'
        WHEN (NEW.number > 0) IS FALSE THEN 'requests_number_positive'
        WHEN (NEW.kind IN ('approval', 'question', 'clarification')) IS FALSE THEN 'requests_kind_known'
        WHEN (NEW.outcome IN ('cancelled', 'expired') OR NEW.kind = 'approval' AND NEW.outcome IN ('allowed', 'denied')
            OR NEW.kind IN ('question', 'clarification') AND NEW.outcome IN ('answered', 'declined')) IS FALSE THEN 'requests_outcome_fits_kind'
        WHEN (num_nulls(NEW.outcome, NEW.settled_number, NEW.settled_at_ms, NEW.resolution) IN (0, 4)) IS FALSE THEN 'requests_settled_whole'
        WHEN (NEW.settled_number > 0) IS FALSE THEN 'requests_settled_number_positive'
        WHEN (NEW.due_at_ms IS NULL OR NEW.outcome IS NULL) IS FALSE THEN 'requests_due_while_open'
        WHEN (NEW.partial_answers IS NULL OR NEW.outcome IS NULL AND NEW.kind = 'question') IS FALSE THEN 'requests_partial_while_open'
        WHEN (NEW.rule_id IS NULL OR NEW.outcome IS NOT NULL AND NEW.outcome IN ('allowed', 'denied')) IS FALSE THEN 'requests_rule_settles'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'requests', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "requests" violates check constraint "%s"', broken);
    END IF;
    IF current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' THEN
        UPDATE sessions SET version = version + 1 WHERE session_id = NEW.session_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

ALTER TABLE requests
    DROP CONSTRAINT requests_request_id_given,
    DROP CONSTRAINT requests_number_positive,
    DROP CONSTRAINT requests_kind_known,
    DROP CONSTRAINT requests_outcome_fits_kind,
    DROP CONSTRAINT requests_settled_whole,
    DROP CONSTRAINT requests_settled_number_positive,
    DROP CONSTRAINT requests_due_while_open,
    DROP CONSTRAINT requests_partial_while_open,
    DROP CONSTRAINT requests_rule_settles;
DROP TRIGGER requests_changed ON requests;
CREATE TRIGGER requests_written AFTER INSERT OR UPDATE ON requests FOR EACH ROW EXECUTE FUNCTION holdpoint_request_written();

-- +goose Down

ALTER TABLE requests
    ADD CONSTRAINT requests_request_id_given CHECK (request_id <> '') NOT VALID,
    ADD CONSTRAINT requests_number_positive CHECK (number > 0) NOT VALID,
    ADD CONSTRAINT requests_kind_known CHECK (kind IN ('approval', 'question', 'clarification')) NOT VALID,
    ADD CONSTRAINT requests_outcome_fits_kind CHECK (
        outcome IN ('cancelled', 'expired')
        OR (kind = 'approval' AND outcome IN ('allowed', 'denied'))
        OR (kind IN ('question', 'clarification') AND outcome IN ('answered', 'declined'))) NOT VALID,
    ADD CONSTRAINT requests_settled_whole CHECK (num_nulls(outcome, settled_number, settled_at_ms, resolution) IN (0, 4)) NOT VALID,
    ADD CONSTRAINT requests_settled_number_positive CHECK (settled_number > 0) NOT VALID,
    ADD CONSTRAINT requests_due_while_open CHECK (due_at_ms IS NULL OR outcome IS NULL) NOT VALID,
    ADD CONSTRAINT requests_partial_while_open CHECK (partial_answers IS NULL OR (outcome IS NULL AND kind = 'question')) NOT VALID,
    ADD CONSTRAINT requests_rule_settles CHECK (rule_id IS NULL OR (outcome IS NOT NULL AND outcome IN ('allowed', 'denied'))) NOT VALID;
DROP TRIGGER requests_written ON requests;
CREATE TRIGGER requests_changed AFTER INSERT OR UPDATE ON requests FOR EACH ROW
    WHEN (current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_row_changed();

DROP FUNCTION holdpoint_request_written;
