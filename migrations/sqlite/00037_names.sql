-- +goose Up

-- An id that a caller has chosen, for a run or for what of it follows an event, is a record whose
-- key nobody else can take. It stays as long as the run, so the sweep by age passes it over.
DROP INDEX idempotency_records_created;
ALTER TABLE idempotency_records RENAME TO idempotency_records_before;

CREATE TABLE idempotency_records (
    operation       TEXT    NOT NULL,
    scope           TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    fingerprint     TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    run_id          TEXT    NOT NULL,
    event_id        INTEGER,
    created_at_ms   INTEGER NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (scope, operation, idempotency_key),
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision', 'release', 'name'))
) STRICT, WITHOUT ROWID;

INSERT INTO idempotency_records (operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms)
SELECT operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms
FROM idempotency_records_before;
DROP TABLE idempotency_records_before;

CREATE INDEX idempotency_records_names ON idempotency_records (session_id, run_id) WHERE operation = 'name';
CREATE INDEX idempotency_records_swept ON idempotency_records (created_at_ms) WHERE operation <> 'name';

-- +goose Down

-- Clients that named what follows a resume no longer find it.
DROP INDEX idempotency_records_swept;
DROP INDEX idempotency_records_names;
ALTER TABLE idempotency_records RENAME TO idempotency_records_before;

CREATE TABLE idempotency_records (
    operation       TEXT    NOT NULL,
    scope           TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    fingerprint     TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    run_id          TEXT    NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (scope, operation, idempotency_key),
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision', 'release'))
) STRICT, WITHOUT ROWID;

INSERT INTO idempotency_records (operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms)
SELECT operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms
FROM idempotency_records_before
WHERE operation <> 'name';
DROP TABLE idempotency_records_before;

CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);
