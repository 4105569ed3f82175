-- +goose Up

-- NOT VALID: the rows that are there fit, and a check of them would hold the table locked.
-- A release is remembered by its run and fence, so that the same call made again is recognised.
ALTER TABLE idempotency_records
    DROP CONSTRAINT idempotency_records_operation_known,
    ADD CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision', 'release')) NOT VALID;

-- +goose Down

-- A release that is repeated is then refused with lease_lost.
DELETE FROM idempotency_records WHERE operation = 'release';

ALTER TABLE idempotency_records
    DROP CONSTRAINT idempotency_records_operation_known,
    ADD CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision'));
