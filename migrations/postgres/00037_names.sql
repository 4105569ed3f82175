-- +goose NO TRANSACTION
-- +goose Up

-- An id that a caller has chosen, for a run or for what of it follows an event, is a record whose
-- key nobody else can take. It stays as long as the run, so the sweep by age passes it over. An
-- index that was left unfinished is dropped first.
ALTER TABLE idempotency_records ADD COLUMN IF NOT EXISTS event_id bigint;

-- NOT VALID: the rows that are there fit, and a check of them would hold the table locked.
ALTER TABLE idempotency_records
    DROP CONSTRAINT idempotency_records_operation_known,
    ADD CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision', 'release', 'name')) NOT VALID;

DROP INDEX CONCURRENTLY IF EXISTS idempotency_records_names;
CREATE INDEX CONCURRENTLY idempotency_records_names ON idempotency_records (session_id, run_id) WHERE operation = 'name';
DROP INDEX CONCURRENTLY IF EXISTS idempotency_records_swept;
CREATE INDEX CONCURRENTLY idempotency_records_swept ON idempotency_records (created_at_ms) WHERE operation <> 'name';
DROP INDEX CONCURRENTLY IF EXISTS idempotency_records_created;

-- +goose Down

-- Clients that named what follows a resume no longer find it.
DELETE FROM idempotency_records WHERE operation = 'name';

DROP INDEX CONCURRENTLY IF EXISTS idempotency_records_created;
CREATE INDEX CONCURRENTLY idempotency_records_created ON idempotency_records (created_at_ms);
DROP INDEX CONCURRENTLY IF EXISTS idempotency_records_swept;
DROP INDEX CONCURRENTLY IF EXISTS idempotency_records_names;
ALTER TABLE idempotency_records
    DROP CONSTRAINT idempotency_records_operation_known,
    ADD CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision', 'release')) NOT VALID;
ALTER TABLE idempotency_records DROP COLUMN IF EXISTS event_id;
