-- +goose Up

-- A release is remembered by its run and fence, so that the same call made again is recognised.
DROP INDEX idempotency_records_created;
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
FROM idempotency_records_before;
DROP TABLE idempotency_records_before;

CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);

-- +goose Down

-- A release that is repeated is then refused with lease_lost.
DROP INDEX idempotency_records_created;
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
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision'))
) STRICT, WITHOUT ROWID;

INSERT INTO idempotency_records (operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms)
SELECT operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms
FROM idempotency_records_before
WHERE operation <> 'release';
DROP TABLE idempotency_records_before;

CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);
