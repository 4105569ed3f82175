-- +goose Up

-- Who asks a parent clarification; NULL for every other run.
ALTER TABLE runs ADD COLUMN requester TEXT;

-- The clarifications that wait in a session, which take no slot.
CREATE INDEX runs_clarifications ON runs (session_id, run_id) WHERE finished_at_ms IS NULL AND kind = 'parent_clarification';

-- The kinds of requests have one more. SQLite changes no constraint, so the table is
-- made anew and the rows move.
DROP INDEX requests_open;
DROP INDEX requests_run_open;
DROP INDEX requests_suspension;
DROP INDEX requests_due;
DROP INDEX requests_settled_once;
ALTER TABLE requests RENAME TO requests_before;

CREATE TABLE requests (
    session_id        TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    request_id        TEXT    NOT NULL,
    handle            TEXT    NOT NULL,
    suspension_id     TEXT    NOT NULL,
    suspension_digest TEXT    NOT NULL,
    number            INTEGER NOT NULL,
    kind              TEXT    NOT NULL,
    body              TEXT    NOT NULL,
    due_at_ms         INTEGER,
    created_at_ms     INTEGER NOT NULL,
    outcome           TEXT,
    settled_number    INTEGER,
    resolution        TEXT,
    settled_at_ms     INTEGER,
    CONSTRAINT requests_pkey PRIMARY KEY (session_id, request_id, run_id),
    CONSTRAINT requests_handle_key UNIQUE (handle),
    CONSTRAINT requests_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT requests_request_id_given CHECK (request_id <> ''),
    CONSTRAINT requests_number_positive CHECK (number > 0),
    CONSTRAINT requests_kind_known CHECK (kind IN ('approval', 'question', 'clarification')),
    CONSTRAINT requests_outcome_known CHECK (outcome IN ('allowed', 'denied', 'answered', 'declined', 'cancelled', 'expired')),
    CONSTRAINT requests_outcome_fits_kind CHECK (outcome IS NULL OR outcome IN ('cancelled', 'expired') OR (kind = 'approval') = (outcome IN ('allowed', 'denied'))),
    CONSTRAINT requests_settled_whole CHECK (
        (outcome IS NULL) = (settled_number IS NULL)
        AND (outcome IS NULL) = (resolution IS NULL)
        AND (outcome IS NULL) = (settled_at_ms IS NULL)
    ),
    CONSTRAINT requests_settled_number_positive CHECK (settled_number > 0),
    CONSTRAINT requests_due_while_open CHECK (due_at_ms IS NULL OR outcome IS NULL)
) STRICT;

INSERT INTO requests (
    session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body,
    due_at_ms, created_at_ms, outcome, settled_number, resolution, settled_at_ms
) SELECT
    session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body,
    due_at_ms, created_at_ms, outcome, settled_number, resolution, settled_at_ms
FROM requests_before;
DROP TABLE requests_before;

-- The inbox: what is open, of one kind, in the order of its list.
CREATE INDEX requests_open ON requests (kind, session_id, run_id, request_id) WHERE outcome IS NULL;
-- The open requests of a run, and those of one suspension.
CREATE INDEX requests_run_open ON requests (run_id) WHERE outcome IS NULL;
CREATE INDEX requests_suspension ON requests (run_id, suspension_id);
-- The expiry sweep. The deadline is cleared when the request is settled.
CREATE INDEX requests_due ON requests (due_at_ms, session_id, run_id) WHERE due_at_ms IS NOT NULL;
-- The decisions of a run in their order; each has its own number.
CREATE UNIQUE INDEX requests_settled_once ON requests (run_id, settled_number) WHERE settled_number IS NOT NULL;

-- What committed decisions still owe. A row stays when it is done.
CREATE TABLE effects (
    session_id        TEXT    NOT NULL,
    effect_id         TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    state             TEXT    NOT NULL,
    target_session_id TEXT    NOT NULL,
    payload           TEXT    NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    due_at_ms         INTEGER,
    attempts          INTEGER NOT NULL,
    last_error        TEXT,
    finished_at_ms    INTEGER,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) STRICT;

-- What is owed, that which is due the longest first.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- The list of all effects, and that of those which were given up.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_failed ON effects (created_at_ms, effect_id) WHERE state = 'failed';

-- The mailboxes. A row stays when it is acknowledged, so that a late repetition of
-- its delivery finds it.
CREATE TABLE messages (
    session_id          TEXT    NOT NULL,
    message_id          TEXT    NOT NULL,
    run_id              TEXT    NOT NULL,
    from_session_id     TEXT    NOT NULL,
    state               TEXT    NOT NULL,
    subject             TEXT    NOT NULL,
    payload             TEXT    NOT NULL,
    created_at_ms       INTEGER NOT NULL,
    delivery_attempts   INTEGER NOT NULL,
    lease_expires_at_ms INTEGER,
    last_error          TEXT,
    acknowledged_at_ms  INTEGER,
    CONSTRAINT messages_pkey PRIMARY KEY (session_id, message_id),
    CONSTRAINT messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT messages_message_id_given CHECK (message_id <> ''),
    CONSTRAINT messages_state_known CHECK (state IN ('pending', 'dead_letter', 'acknowledged')),
    CONSTRAINT messages_acknowledged_whole CHECK ((acknowledged_at_ms IS NOT NULL) = (state = 'acknowledged')),
    CONSTRAINT messages_delivery_attempts_not_negative CHECK (delivery_attempts >= 0)
) STRICT;

-- A session's mailbox, oldest first.
CREATE INDEX messages_waiting ON messages (session_id, state, created_at_ms, message_id) WHERE acknowledged_at_ms IS NULL;
-- What waits for one run. Each claim looks, and seldom finds anything.
CREATE INDEX messages_waiting_of_run ON messages (session_id, run_id) WHERE acknowledged_at_ms IS NULL;

-- +goose Down

DROP TABLE messages;
DROP TABLE effects;

-- What children asked is lost with the kind that says so, and with it what a parked
-- run waits for. The clarifications themselves are runs and stay.
DROP INDEX requests_open;
DROP INDEX requests_run_open;
DROP INDEX requests_suspension;
DROP INDEX requests_due;
DROP INDEX requests_settled_once;
ALTER TABLE requests RENAME TO requests_before;

CREATE TABLE requests (
    session_id        TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    request_id        TEXT    NOT NULL,
    handle            TEXT    NOT NULL,
    suspension_id     TEXT    NOT NULL,
    suspension_digest TEXT    NOT NULL,
    number            INTEGER NOT NULL,
    kind              TEXT    NOT NULL,
    body              TEXT    NOT NULL,
    due_at_ms         INTEGER,
    created_at_ms     INTEGER NOT NULL,
    outcome           TEXT,
    settled_number    INTEGER,
    resolution        TEXT,
    settled_at_ms     INTEGER,
    CONSTRAINT requests_pkey PRIMARY KEY (session_id, request_id, run_id),
    CONSTRAINT requests_handle_key UNIQUE (handle),
    CONSTRAINT requests_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT requests_request_id_given CHECK (request_id <> ''),
    CONSTRAINT requests_number_positive CHECK (number > 0),
    CONSTRAINT requests_kind_known CHECK (kind IN ('approval', 'question')),
    CONSTRAINT requests_outcome_known CHECK (outcome IN ('allowed', 'denied', 'answered', 'declined', 'cancelled', 'expired')),
    CONSTRAINT requests_outcome_fits_kind CHECK (outcome IS NULL OR outcome IN ('cancelled', 'expired') OR (kind = 'approval') = (outcome IN ('allowed', 'denied'))),
    CONSTRAINT requests_settled_whole CHECK (
        (outcome IS NULL) = (settled_number IS NULL)
        AND (outcome IS NULL) = (resolution IS NULL)
        AND (outcome IS NULL) = (settled_at_ms IS NULL)
    ),
    CONSTRAINT requests_settled_number_positive CHECK (settled_number > 0),
    CONSTRAINT requests_due_while_open CHECK (due_at_ms IS NULL OR outcome IS NULL)
) STRICT;

INSERT INTO requests (
    session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body,
    due_at_ms, created_at_ms, outcome, settled_number, resolution, settled_at_ms
) SELECT
    session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body,
    due_at_ms, created_at_ms, outcome, settled_number, resolution, settled_at_ms
FROM requests_before
WHERE kind <> 'clarification';
DROP TABLE requests_before;

-- The inbox: what is open, of one kind, in the order of its list.
CREATE INDEX requests_open ON requests (kind, session_id, run_id, request_id) WHERE outcome IS NULL;
-- The open requests of a run, and those of one suspension.
CREATE INDEX requests_run_open ON requests (run_id) WHERE outcome IS NULL;
CREATE INDEX requests_suspension ON requests (run_id, suspension_id);
-- The expiry sweep. The deadline is cleared when the request is settled.
CREATE INDEX requests_due ON requests (due_at_ms, session_id, run_id) WHERE due_at_ms IS NOT NULL;
-- The decisions of a run in their order; each has its own number.
CREATE UNIQUE INDEX requests_settled_once ON requests (run_id, settled_number) WHERE settled_number IS NOT NULL;

DROP INDEX runs_clarifications;
ALTER TABLE runs DROP COLUMN requester;
