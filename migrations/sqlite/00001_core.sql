-- +goose Up

-- A column is the snake_case of the Go field in package runs. What Go writes as 0
-- or "" for "there is none" is NULL. Times are integer milliseconds since the
-- epoch. Text compares by byte, which is SQLite's own order. JSON documents are
-- text, carried byte for byte.

CREATE TABLE sessions (
    session_id        TEXT    NOT NULL,
    agent_id          TEXT    NOT NULL,
    parent_session_id TEXT,
    metadata          TEXT,
    active_run_id     TEXT,
    queued_count      INTEGER NOT NULL,
    last_event_id     INTEGER NOT NULL,
    ended_at_ms       INTEGER,
    created_at_ms     INTEGER NOT NULL,
    updated_at_ms     INTEGER NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id),
    CONSTRAINT sessions_session_id_given CHECK (session_id <> ''),
    CONSTRAINT sessions_queued_count_not_negative CHECK (queued_count >= 0),
    CONSTRAINT sessions_last_event_id_not_negative CHECK (last_event_id >= 0),
    CONSTRAINT sessions_ended_is_idle CHECK (ended_at_ms IS NULL OR (active_run_id IS NULL AND queued_count = 0))
) STRICT;

CREATE TABLE runs (
    run_id              TEXT    NOT NULL,
    session_id          TEXT    NOT NULL,
    agent_id            TEXT    NOT NULL,
    parent_run_id       TEXT,
    kind                TEXT    NOT NULL,
    status              TEXT    NOT NULL,
    source_plugin       TEXT    NOT NULL,
    source_kind         TEXT    NOT NULL,
    actor_id            TEXT    NOT NULL,
    text_preview        TEXT,
    question_count      INTEGER NOT NULL,
    metadata            TEXT,
    payload_digest      TEXT    NOT NULL,
    submitted_at_ms     INTEGER NOT NULL,
    started_at_ms       INTEGER,
    finished_at_ms      INTEGER,
    updated_at_ms       INTEGER NOT NULL,
    first_event_id      INTEGER NOT NULL,
    last_event_id       INTEGER NOT NULL,
    attempt             INTEGER NOT NULL,
    stalled_attempts    INTEGER NOT NULL,
    fence               INTEGER NOT NULL,
    worker_id           TEXT,
    lease_expires_at_ms INTEGER,
    lease_end           TEXT,
    last_call_digest    TEXT,
    attached            INTEGER NOT NULL,
    claimable_at_ms     INTEGER,
    suspension_id       TEXT,
    raised_count        INTEGER NOT NULL,
    settled_count       INTEGER NOT NULL,
    resume_after        INTEGER NOT NULL,
    output_count        INTEGER NOT NULL,
    error               TEXT,
    output              TEXT,
    CONSTRAINT runs_pkey PRIMARY KEY (run_id),
    CONSTRAINT runs_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT runs_run_id_given CHECK (run_id <> ''),
    CONSTRAINT runs_status_known CHECK (status IN ('queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled')),
    CONSTRAINT runs_lease_end_known CHECK (lease_end IN ('released', 'suspended', 'completed', 'failed', 'revoked')),
    CONSTRAINT runs_attached_is_boolean CHECK (attached IN (0, 1)),
    CONSTRAINT runs_counts_not_negative CHECK (
        attempt >= 0 AND stalled_attempts >= 0 AND fence >= 0 AND question_count >= 0 AND output_count >= 0),
    CONSTRAINT runs_events_in_order CHECK (first_event_id BETWEEN 1 AND last_event_id),
    CONSTRAINT runs_settled_were_raised CHECK (settled_count BETWEEN 0 AND raised_count),
    CONSTRAINT runs_resume_of_settled CHECK (resume_after BETWEEN 0 AND settled_count),
    CONSTRAINT runs_finished_when_over CHECK (
        (finished_at_ms IS NOT NULL) = (status IN ('completed', 'failed', 'interrupted', 'cancelled'))),
    CONSTRAINT runs_output_of_completed CHECK (output IS NULL OR status = 'completed'),
    CONSTRAINT runs_over_is_not_held CHECK (
        finished_at_ms IS NULL OR (lease_expires_at_ms IS NULL AND claimable_at_ms IS NULL AND attached = 0)),
    CONSTRAINT runs_queued_was_never_held CHECK (
        status <> 'queued' OR (fence = 0 AND lease_expires_at_ms IS NULL AND started_at_ms IS NULL)),
    -- A run that goes on is held or can be had: there is none that nobody can claim.
    CONSTRAINT runs_running_is_claimable CHECK (status <> 'running' OR claimable_at_ms IS NOT NULL),
    CONSTRAINT runs_waiting_is_not_claimable CHECK (
        status NOT IN ('waiting_for_approval', 'waiting_for_user_question')
        OR (claimable_at_ms IS NULL AND (lease_expires_at_ms IS NULL OR attached = 1))),
    CONSTRAINT runs_lease_has_holder CHECK (lease_expires_at_ms IS NULL OR (fence > 0 AND worker_id IS NOT NULL))
) STRICT;

-- One run at a time holds its session's slot; a parent clarification takes none.
CREATE UNIQUE INDEX runs_one_active ON runs (session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification';

-- The queue of a session and its runs that are not over.
CREATE INDEX runs_unfinished ON runs (session_id, first_event_id) WHERE finished_at_ms IS NULL;

-- What may be claimed now, oldest first: of all agents, and of one.
CREATE INDEX runs_claimable ON runs (claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;
CREATE INDEX runs_claimable_of_agent ON runs (agent_id, claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;

-- The lists of all runs, of those of one session, and of those that are not over.
CREATE INDEX runs_list ON runs (submitted_at_ms, run_id);
CREATE INDEX runs_list_of_session ON runs (session_id, submitted_at_ms, run_id);
CREATE INDEX runs_list_unfinished ON runs (submitted_at_ms, run_id) WHERE finished_at_ms IS NULL;

-- SQLite writes a whole row again when one column changes. What may be large and
-- changes seldom or never therefore has rows of its own.
CREATE TABLE run_payloads (
    run_id TEXT NOT NULL,
    member TEXT NOT NULL,
    value  TEXT NOT NULL,
    CONSTRAINT run_payloads_pkey PRIMARY KEY (run_id, member),
    CONSTRAINT run_payloads_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT run_payloads_member_known CHECK (member IN ('input', 'checkpoint'))
) STRICT;

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

-- The inbox: what is open, of one kind, in the order of its list.
CREATE INDEX requests_open ON requests (kind, session_id, run_id, request_id) WHERE outcome IS NULL;
-- The open requests of a run, and those of one suspension.
CREATE INDEX requests_run_open ON requests (run_id) WHERE outcome IS NULL;
CREATE INDEX requests_suspension ON requests (run_id, suspension_id);
-- The expiry sweep. The deadline is cleared when the request is settled.
CREATE INDEX requests_due ON requests (due_at_ms, session_id, run_id) WHERE due_at_ms IS NOT NULL;
-- The decisions of a run in their order; each has its own number.
CREATE UNIQUE INDEX requests_settled_once ON requests (run_id, settled_number) WHERE settled_number IS NOT NULL;

CREATE TABLE events (
    session_id   TEXT    NOT NULL,
    event_id     INTEGER NOT NULL,
    run_id       TEXT    NOT NULL,
    agent_id     TEXT    NOT NULL,
    type         TEXT    NOT NULL,
    timestamp_ms INTEGER NOT NULL,
    body         TEXT    NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (session_id, event_id),
    CONSTRAINT events_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT events_event_id_positive CHECK (event_id > 0),
    CONSTRAINT events_type_given CHECK (type <> '')
) STRICT;

CREATE INDEX events_run ON events (run_id, event_id);
CREATE INDEX events_run_output ON events (run_id, event_id) WHERE type = 'output';
CREATE INDEX events_session_output ON events (session_id, event_id) WHERE type = 'output';

CREATE TABLE idempotency_records (
    operation       TEXT    NOT NULL,
    scope           TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    fingerprint     TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    run_id          TEXT    NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (scope, operation, idempotency_key),
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel'))
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);

-- +goose Down

DROP TABLE idempotency_records;
DROP TABLE events;
DROP TABLE requests;
DROP TABLE run_payloads;
DROP TABLE runs;
DROP TABLE sessions;
