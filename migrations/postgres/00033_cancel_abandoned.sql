-- +goose Up

-- NOT VALID: the rows that are there fit, and a check of them would hold the table locked.
ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned')) NOT VALID;

-- +goose Down

-- What was abandoned stays open until somebody decides.
DELETE FROM effects WHERE kind = 'cancel_abandoned';

ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session'));
