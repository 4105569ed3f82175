-- +goose Up

-- Conventions of every table here:
--
--   * A column is the snake_case of the Go field in package runs. What Go writes as
--     0 or "" for "there is none" is NULL, so that partial indexes hold only the
--     rows they are for and the constraints can tell "none" from a value.
--   * Times are integer milliseconds since the epoch. Identifiers compare by byte
--     (COLLATE "C"), so that every list has one order on every machine.
--   * JSON documents are text, not jsonb: they are carried byte for byte, with
--     \u0000 and numbers of any length.
--   * Columns of 8 bytes come first, then the boolean, then what has no fixed
--     width: that leaves no padding.
--   * No foreign keys. Every row is written under the lock of its session, by the
--     one door, and each key check would cost a lookup and a row lock a row. All
--     rows carry session_id, by which a distributed Postgres can shard them.
--   * No statement may be tempted to scan a partial index for a row that it knows
--     by key: the predicates are on nullable columns or on the end of a run, and
--     statements reach rows by primary key.

CREATE TABLE sessions (
    queued_count      bigint NOT NULL,
    last_event_id     bigint NOT NULL,
    ended_at_ms       bigint,
    created_at_ms     bigint NOT NULL,
    updated_at_ms     bigint NOT NULL,
    session_id        text COLLATE "C" NOT NULL,
    agent_id          text COLLATE "C" NOT NULL,
    parent_session_id text COLLATE "C",
    active_run_id     text COLLATE "C",
    metadata          text,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id),
    CONSTRAINT sessions_session_id_given CHECK (session_id <> ''),
    CONSTRAINT sessions_queued_count_not_negative CHECK (queued_count >= 0),
    CONSTRAINT sessions_last_event_id_not_negative CHECK (last_event_id >= 0),
    CONSTRAINT sessions_ended_is_idle CHECK (ended_at_ms IS NULL OR (active_run_id IS NULL AND queued_count = 0))
) WITH (
    -- Every command updates its session's row and changes no indexed column: with
    -- room in the page the new version stays beside the old one and no index is
    -- touched.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.05
);

-- The list of sessions of one agent, in the order of session_id.
CREATE INDEX sessions_agent ON sessions (agent_id, session_id);

-- The list of ended sessions.
CREATE INDEX sessions_ended ON sessions (session_id) WHERE ended_at_ms IS NOT NULL;

CREATE TABLE runs (
    submitted_at_ms     bigint NOT NULL,
    started_at_ms       bigint,
    finished_at_ms      bigint,
    updated_at_ms       bigint NOT NULL,
    first_event_id      bigint NOT NULL,
    last_event_id       bigint NOT NULL,
    attempt             bigint NOT NULL,
    stalled_attempts    bigint NOT NULL,
    fence               bigint NOT NULL,
    lease_expires_at_ms bigint,
    claimable_at_ms     bigint,
    raised_count        bigint NOT NULL,
    settled_count       bigint NOT NULL,
    resume_after        bigint NOT NULL,
    output_count        bigint NOT NULL,
    question_count      bigint NOT NULL,
    attached            boolean NOT NULL,
    status              text COLLATE "C" NOT NULL,
    session_id          text COLLATE "C" NOT NULL,
    run_id              text COLLATE "C" NOT NULL,
    agent_id            text COLLATE "C" NOT NULL,
    kind                text COLLATE "C" NOT NULL,
    parent_run_id       text COLLATE "C",
    worker_id           text COLLATE "C",
    lease_end           text COLLATE "C",
    suspension_id       text COLLATE "C",
    last_call_digest    text COLLATE "C",
    payload_digest      text COLLATE "C" NOT NULL,
    source_plugin       text NOT NULL,
    source_kind         text NOT NULL,
    actor_id            text NOT NULL,
    text_preview        text,
    error               text,
    metadata            text,
    -- Possibly large. An update that does not name them leaves them where they are,
    -- out of line, and copies a pointer.
    output              text,
    checkpoint          text,
    input               text NOT NULL,
    CONSTRAINT runs_pkey PRIMARY KEY (session_id, run_id),
    -- A run id is unique in all sessions: the service finds a run's session by it,
    -- and two callers who choose the same id meet here.
    CONSTRAINT runs_run_id_key UNIQUE (run_id),
    CONSTRAINT runs_run_id_given CHECK (run_id <> ''),
    CONSTRAINT runs_status_known CHECK (status IN (
        'queued', 'running', 'waiting_for_approval', 'waiting_for_user_question',
        'completed', 'failed', 'interrupted', 'cancelled')),
    CONSTRAINT runs_lease_end_known CHECK (lease_end IN ('released', 'suspended', 'completed', 'failed', 'revoked')),
    CONSTRAINT runs_counts_not_negative CHECK (
        attempt >= 0 AND stalled_attempts >= 0 AND fence >= 0 AND question_count >= 0 AND output_count >= 0),
    CONSTRAINT runs_events_in_order CHECK (first_event_id BETWEEN 1 AND last_event_id),
    CONSTRAINT runs_settled_were_raised CHECK (settled_count BETWEEN 0 AND raised_count),
    CONSTRAINT runs_resume_of_settled CHECK (resume_after BETWEEN 0 AND settled_count),
    CONSTRAINT runs_finished_when_over CHECK (
        (finished_at_ms IS NOT NULL) = (status IN ('completed', 'failed', 'interrupted', 'cancelled'))),
    CONSTRAINT runs_output_of_completed CHECK (output IS NULL OR status = 'completed'),
    CONSTRAINT runs_over_is_not_held CHECK (
        finished_at_ms IS NULL OR (lease_expires_at_ms IS NULL AND claimable_at_ms IS NULL AND NOT attached)),
    CONSTRAINT runs_queued_was_never_held CHECK (
        status <> 'queued' OR (fence = 0 AND lease_expires_at_ms IS NULL AND started_at_ms IS NULL)),
    -- A run that goes on is held or can be had: there is none that nobody can claim.
    CONSTRAINT runs_running_is_claimable CHECK (status <> 'running' OR claimable_at_ms IS NOT NULL),
    CONSTRAINT runs_waiting_is_not_claimable CHECK (
        status NOT IN ('waiting_for_approval', 'waiting_for_user_question')
        OR (claimable_at_ms IS NULL AND (lease_expires_at_ms IS NULL OR attached))),
    CONSTRAINT runs_lease_has_holder CHECK (lease_expires_at_ms IS NULL OR (fence > 0 AND worker_id IS NOT NULL))
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.05
);

-- One run at a time holds its session's slot; a parent clarification takes none.
CREATE UNIQUE INDEX runs_one_active ON runs (session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification';

-- The queue of a session and its runs that are not over, in the order in which
-- they were accepted: each batch reads its head, a view counts the runs ahead.
CREATE INDEX runs_unfinished ON runs (session_id, first_event_id) WHERE finished_at_ms IS NULL;

-- What may be claimed now, oldest first: of all agents, and of one. Workers of one
-- agent must not have to step over the backlog of the others.
CREATE INDEX runs_claimable ON runs (claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;
CREATE INDEX runs_claimable_of_agent ON runs (agent_id, claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;

-- The list of all runs. That of one session uses the primary key.
CREATE INDEX runs_list ON runs (submitted_at_ms, run_id);

CREATE TABLE requests (
    number            bigint NOT NULL,
    due_at_ms         bigint,
    created_at_ms     bigint NOT NULL,
    settled_number    bigint,
    settled_at_ms     bigint,
    session_id        text COLLATE "C" NOT NULL,
    run_id            text COLLATE "C" NOT NULL,
    request_id        text COLLATE "C" NOT NULL,
    kind              text COLLATE "C" NOT NULL,
    outcome           text COLLATE "C",
    handle            text COLLATE "C" NOT NULL,
    suspension_id     text COLLATE "C" NOT NULL,
    suspension_digest text COLLATE "C" NOT NULL,
    resolution        text,
    body              text NOT NULL,
    -- request_id stands before run_id: a session's route names a request by its id
    -- alone.
    CONSTRAINT requests_pkey PRIMARY KEY (session_id, request_id, run_id),
    -- Faces that address an item by a bare id find it by its handle.
    CONSTRAINT requests_handle_key UNIQUE (handle),
    CONSTRAINT requests_request_id_given CHECK (request_id <> ''),
    CONSTRAINT requests_number_positive CHECK (number > 0),
    CONSTRAINT requests_kind_known CHECK (kind IN ('approval', 'question')),
    CONSTRAINT requests_outcome_fits_kind CHECK (
        outcome IN ('cancelled', 'expired')
        OR (kind = 'approval' AND outcome IN ('allowed', 'denied'))
        OR (kind = 'question' AND outcome IN ('answered', 'declined'))),
    CONSTRAINT requests_settled_whole CHECK (num_nulls(outcome, settled_number, settled_at_ms, resolution) IN (0, 4)),
    CONSTRAINT requests_settled_number_positive CHECK (settled_number > 0),
    CONSTRAINT requests_due_while_open CHECK (due_at_ms IS NULL OR outcome IS NULL)
) WITH (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.05
);

-- The open requests of a run and those settled after a number, in one range: an
-- open request sorts behind all numbers. Each batch reads it, and so do the views
-- of runs.
CREATE INDEX requests_of_run ON requests (session_id, run_id, coalesce(settled_number, 9223372036854775807));

-- The inbox: what is open, of one kind, in the order of its list.
CREATE INDEX requests_open ON requests (kind, session_id, run_id, request_id) WHERE settled_number IS NULL;

-- The expiry sweep. The deadline is cleared when the request is settled.
CREATE INDEX requests_due ON requests (due_at_ms, session_id, run_id) WHERE due_at_ms IS NOT NULL;

CREATE TABLE events (
    event_id     bigint NOT NULL,
    timestamp_ms bigint NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    agent_id     text COLLATE "C" NOT NULL,
    type         text COLLATE "C" NOT NULL,
    body         text NOT NULL,
    -- The events of one run are read through it as well: they lie between the run's
    -- first and last.
    CONSTRAINT events_pkey PRIMARY KEY (session_id, event_id),
    CONSTRAINT events_event_id_positive CHECK (event_id > 0),
    CONSTRAINT events_type_given CHECK (type <> '')
);

-- The newest output records of a session and of its runs.
CREATE INDEX events_output ON events (session_id, event_id) WHERE type = 'output';

CREATE TABLE idempotency_records (
    created_at_ms   bigint NOT NULL,
    scope           text COLLATE "C" NOT NULL,
    operation       text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    fingerprint     text COLLATE "C" NOT NULL,
    session_id      text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (scope, operation, idempotency_key),
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel'))
);

-- The sweep of old records.
CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);

-- The planner starts from statistics of these tables and not from its guesses.
ANALYZE sessions, runs, requests, events, idempotency_records;

-- +goose Down

DROP TABLE idempotency_records;
DROP TABLE events;
DROP TABLE requests;
DROP TABLE runs;
DROP TABLE sessions;
