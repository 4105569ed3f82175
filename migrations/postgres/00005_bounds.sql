-- +goose Up

-- NOT VALID: the rows that are there fit, and a check of them would hold the table locked.
ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session')) NOT VALID;

-- +goose Down

-- A session that has ended keeps what was not drained yet.
DELETE FROM effects WHERE kind = 'drain_session';

ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval'));
