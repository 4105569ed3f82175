-- +goose Up

-- The whole schema, as of the first release. Later changes are numbered files of their own.
--
-- Conventions of every table:
--
--   * A column is the snake_case of the Go field in package runs. Go's 0 or "" for "none" is NULL, so
--     that partial indexes stay small and constraints can tell "none" from a value.
--   * Times are integer milliseconds since the epoch. Identifiers compare by byte (COLLATE "C"), so
--     that every list has the same order on every machine.
--   * JSON documents are text, not jsonb: they are carried byte for byte, with \u0000 and numbers of
--     any length.
--   * Columns of 8 bytes come first, then booleans, then text: that leaves no padding. Large text
--     comes last.
--   * Session tables have no foreign keys: every row is written under its session's lock, and each
--     key check would cost a lookup and a row lock. Every row carries session_id, by which a
--     distributed Postgres can shard it.
--   * A partial index must not look cheaper than the primary key for a row whose key is known. Index
--     predicates therefore test nullable columns or the end of a run.
--   * Every CHECK is read from its text again for each statement, as is every trigger condition. The
--     three hot tables (sessions, runs, requests) are checked by one trigger each, which a connection
--     keeps compiled. It reports a violation like a CHECK of the same name.
--
-- Replicas decide from cached rows and write only if the session still has the cached version. The
-- service changes the version itself and sets holdpoint.door on its connections. For other writers, such
-- as psql, triggers change it. Versions grow by random steps from a random start and never recur: an id
-- may be used again after retention, and a restored database goes back to earlier rows.

-- Ends a statement with a code that the service recognizes, from inside an expression.
-- +goose StatementBegin
CREATE FUNCTION holdpoint_refuse(code text, reason text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = reason;
END $$;
-- +goose StatementEnd

-- Changes the session's version when a row of another table changed.
-- +goose StatementBegin
CREATE FUNCTION holdpoint_row_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions SET version = version + 1 WHERE session_id = coalesce(NEW.session_id, OLD.session_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Sessions: durable conversations, the unit of consistency. Each decision locks its session's row.
CREATE TABLE sessions (
    queued_count        bigint NOT NULL,
    last_event_id       bigint NOT NULL,
    created_at_ms       bigint NOT NULL,
    updated_at_ms       bigint NOT NULL,
    version             bigint NOT NULL DEFAULT 0,
    -- How many of the kept events are output records.
    output_count        bigint NOT NULL DEFAULT 0,
    ended_at_ms         bigint,
    -- The first event that retention has kept; NULL while all are kept.
    first_kept_event_id bigint,
    session_id          text COLLATE "C" NOT NULL,
    agent_id            text COLLATE "C" NOT NULL,
    parent_session_id   text COLLATE "C",
    active_run_id       text COLLATE "C",
    -- The hash of the first event. It tells the session from an earlier one with the same id.
    life                text COLLATE "C",
    -- The hash of the newest event, with which the next one is chained.
    last_event_hash     text COLLATE "C",
    -- The credential that created the session; NULL for the service itself.
    principal           text COLLATE "C",
    -- The principals that created or claimed a run of the session, one a line.
    requesters          text COLLATE "C",
    metadata            text,
    -- The label and origin that people recognise the session by, as a JSON document.
    about               text,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id)
) WITH (
    -- Every command updates its session's row and no indexed column. With room in the page, the new
    -- row version stays in it and no index is touched.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.05
);

-- The list of an agent's sessions, by session_id.
CREATE INDEX sessions_agent ON sessions (agent_id, session_id);
-- The list of ended sessions.
CREATE INDEX sessions_ended ON sessions (session_id) WHERE ended_at_ms IS NOT NULL;
-- Sessions that still need their parent, for retention; and the live sessions below a session.
CREATE INDEX sessions_of_parent ON sessions (parent_session_id) WHERE parent_session_id <> '';
CREATE INDEX sessions_below ON sessions (parent_session_id) WHERE parent_session_id <> '' AND ended_at_ms IS NULL;

-- +goose StatementBegin
CREATE FUNCTION holdpoint_session_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    broken text COLLATE "C" := CASE
        WHEN (NEW.session_id <> '') IS FALSE THEN 'sessions_session_id_given'
        WHEN (NEW.queued_count >= 0) IS FALSE THEN 'sessions_queued_count_not_negative'
        WHEN (NEW.last_event_id >= 0) IS FALSE THEN 'sessions_last_event_id_not_negative'
        -- Queued runs may remain for a while: an effect ends them in batches.
        WHEN (NEW.ended_at_ms IS NULL OR NEW.active_run_id IS NULL) IS FALSE THEN 'sessions_ended_is_idle'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'sessions', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "sessions" violates check constraint "%s"', broken);
    END IF;
    IF TG_OP = 'UPDATE' AND current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' AND NEW.version IN (OLD.version, OLD.version + 1) THEN
        NEW.version := OLD.version + 1 + floor(random() * 4294967296)::bigint;
    END IF;
    -- Events that another writer added are in no chain: it starts again behind them.
    IF TG_OP = 'UPDATE' AND NEW.last_event_hash = OLD.last_event_hash AND NEW.last_event_id <> OLD.last_event_id THEN
        NEW.last_event_hash := NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER sessions_written BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION holdpoint_session_written();

-- Runs: executions of an agent, queued, running, waiting or over. At most one run of a session is
-- active: sessions.active_run_id names it, and doctor looks for a second one. A unique index would hold
-- the status, which changes with every wait.
CREATE TABLE runs (
    submitted_at_ms     bigint NOT NULL,
    updated_at_ms       bigint NOT NULL,
    first_event_id      bigint NOT NULL,
    last_event_id       bigint NOT NULL,
    attempt             bigint NOT NULL,
    stalled_attempts    bigint NOT NULL,
    -- Attempts that the worker reported as failed, and how often an operator retried the failed run.
    failed_attempts     bigint NOT NULL DEFAULT 0,
    retries             bigint NOT NULL DEFAULT 0,
    fence               bigint NOT NULL,
    raised_count        bigint NOT NULL,
    settled_count       bigint NOT NULL,
    resume_after        bigint NOT NULL,
    output_count        bigint NOT NULL,
    question_count      bigint NOT NULL,
    started_at_ms       bigint,
    finished_at_ms      bigint,
    lease_expires_at_ms bigint,
    claimable_at_ms     bigint,
    attached            boolean NOT NULL,
    -- Whether a finished run had sensitive values.
    secrets_erased      boolean NOT NULL DEFAULT false,
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
    -- The credential that created the run, and the last one that claimed it; NULL for the service itself.
    principal           text COLLATE "C",
    holder_principal    text COLLATE "C",
    source_plugin       text NOT NULL,
    source_kind         text NOT NULL,
    actor_id            text NOT NULL,
    -- Who asks, of a parent clarification.
    requester           text,
    -- The encrypted data key, while the run has sensitive values.
    data_key            text,
    text_preview        text,
    error               text,
    last_error          text COLLATE "C",
    metadata            text,
    -- Large. An update that does not name these copies a pointer to them.
    output              text,
    checkpoint          text,
    input               text NOT NULL,
    CONSTRAINT runs_pkey PRIMARY KEY (session_id, run_id),
    -- A run id is unique in all sessions: the service finds a run's session by it, and two callers that
    -- choose the same id collide here.
    CONSTRAINT runs_run_id_key UNIQUE (run_id)
) WITH (
    -- No index holds a column that a suspension, a decision or a claim changes: see sessions.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.05
);

-- A session's queue and unfinished runs in the order of acceptance. Each batch reads its head; a view
-- counts the runs ahead.
CREATE INDEX runs_unfinished ON runs (session_id, first_event_id) WHERE finished_at_ms IS NULL;
-- The lists of runs: all, unfinished, and of one agent. A session's list uses the primary key. The
-- server sorts runs of the same moment. The predicates appear word for word in the statements of the
-- lists and nowhere else: otherwise the planner uses these indexes to find one run in a small table.
CREATE INDEX runs_list ON runs (submitted_at_ms, run_id);
CREATE INDEX runs_list_unfinished ON runs (submitted_at_ms) WHERE coalesce(finished_at_ms, 0) = 0;
CREATE INDEX runs_list_of_agent ON runs (agent_id, submitted_at_ms);
CREATE INDEX runs_list_unfinished_of_agent ON runs (agent_id, submitted_at_ms) WHERE coalesce(finished_at_ms, 0) = 0;
-- Runs whose worker keeps its lease while they wait.
CREATE INDEX runs_attached ON runs (run_id) WHERE attached;
-- Runs with sensitive values.
CREATE INDEX runs_data_keys ON runs (run_id) WHERE data_key IS NOT NULL;
-- Retention: finished runs, oldest first, and runs that still need their parent.
CREATE INDEX runs_finished ON runs (finished_at_ms) WHERE finished_at_ms > 0;
CREATE INDEX runs_of_parent ON runs (parent_run_id) WHERE parent_run_id <> '';

-- Runs that can be claimed, now or when a lease ends: one row for each run with claimable_at_ms. Every
-- claim changes that column, so an index of runs must not hold it. Triggers of runs write the rows.
CREATE TABLE claimable_runs (
    claimable_at_ms bigint NOT NULL,
    session_id      text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    CONSTRAINT claimable_runs_pkey PRIMARY KEY (session_id, run_id)
) WITH (
    -- Rows come and go; the table stays small.
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000
);

-- Oldest first: of all agents, and of one. Workers of one agent must not step over the backlog of the
-- others. Without run_id: the planner would walk the index to find one run in a small table.
CREATE INDEX claimable_runs_oldest ON claimable_runs (claimable_at_ms);
CREATE INDEX claimable_runs_of_agent ON claimable_runs (agent_id, claimable_at_ms);

-- +goose StatementBegin
CREATE FUNCTION holdpoint_run_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    finished boolean := NEW.finished_at_ms IS NOT NULL;
    leased boolean := NEW.lease_expires_at_ms IS NOT NULL;
    claimable boolean := NEW.claimable_at_ms IS NOT NULL;
    broken text COLLATE "C" := CASE
        WHEN (NEW.run_id <> '') IS FALSE THEN 'runs_run_id_given'
        WHEN (NEW.status IN (
            'queued', 'running', 'waiting_for_approval', 'waiting_for_user_question',
            'completed', 'failed', 'interrupted', 'cancelled')) IS FALSE THEN 'runs_status_known'
        WHEN (NEW.lease_end IN ('released', 'suspended', 'completed', 'failed', 'revoked')) IS FALSE THEN 'runs_lease_end_known'
        WHEN (NEW.attempt >= 0 AND NEW.stalled_attempts >= 0 AND NEW.fence >= 0 AND NEW.question_count >= 0 AND NEW.output_count >= 0) IS FALSE THEN 'runs_counts_not_negative'
        WHEN (NEW.first_event_id BETWEEN 1 AND NEW.last_event_id) IS FALSE THEN 'runs_events_in_order'
        WHEN (NEW.settled_count BETWEEN 0 AND NEW.raised_count) IS FALSE THEN 'runs_settled_were_raised'
        WHEN (NEW.resume_after BETWEEN 0 AND NEW.settled_count) IS FALSE THEN 'runs_resume_of_settled'
        WHEN (finished = (NEW.status IN ('completed', 'failed', 'interrupted', 'cancelled'))) IS FALSE THEN 'runs_finished_when_over'
        WHEN (NEW.output IS NULL OR NEW.status = 'completed') IS FALSE THEN 'runs_output_of_completed'
        WHEN (NOT finished OR NOT (leased OR claimable OR NEW.attached)) IS FALSE THEN 'runs_over_is_not_held'
        WHEN (NEW.status <> 'queued' OR NEW.fence = 0 AND NOT leased AND NEW.started_at_ms IS NULL) IS FALSE THEN 'runs_queued_was_never_held'
        -- A running run is held or can be claimed: it never hangs.
        WHEN (NEW.status <> 'running' OR claimable) IS FALSE THEN 'runs_running_is_claimable'
        WHEN (NEW.status NOT IN ('waiting_for_approval', 'waiting_for_user_question')
            OR NOT claimable AND (NOT leased OR NEW.attached)) IS FALSE THEN 'runs_waiting_is_not_claimable'
        WHEN (NOT leased OR NEW.fence > 0 AND NEW.worker_id IS NOT NULL) IS FALSE THEN 'runs_lease_has_holder'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'runs', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "runs" violates check constraint "%s"', broken);
    END IF;
    IF TG_OP = 'INSERT' AND claimable OR TG_OP = 'UPDATE' AND NEW.claimable_at_ms IS DISTINCT FROM OLD.claimable_at_ms THEN
        IF claimable THEN
            INSERT INTO claimable_runs (session_id, run_id, agent_id, claimable_at_ms)
            VALUES (NEW.session_id, NEW.run_id, NEW.agent_id, NEW.claimable_at_ms)
            ON CONFLICT (session_id, run_id) DO UPDATE SET claimable_at_ms = excluded.claimable_at_ms;
        ELSE
            DELETE FROM claimable_runs WHERE session_id = OLD.session_id AND run_id = OLD.run_id;
        END IF;
    END IF;
    IF current_setting('holdpoint.door', true) IS DISTINCT FROM 'on' THEN
        UPDATE sessions SET version = version + 1 WHERE session_id = NEW.session_id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER runs_written AFTER INSERT OR UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION holdpoint_run_written();
-- Finished runs are not cached, so deleting one changes no version.
CREATE TRIGGER runs_deleted AFTER DELETE ON runs FOR EACH ROW
    WHEN (OLD.finished_at_ms IS NULL) EXECUTE FUNCTION holdpoint_row_changed();

-- +goose StatementBegin
CREATE FUNCTION holdpoint_run_not_claimable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM claimable_runs WHERE session_id = OLD.session_id AND run_id = OLD.run_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER claimable_runs_deleted AFTER DELETE ON runs FOR EACH ROW
    WHEN (OLD.claimable_at_ms IS NOT NULL) EXECUTE FUNCTION holdpoint_run_not_claimable();

-- +goose StatementBegin
CREATE FUNCTION holdpoint_runs_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE claimable_runs;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER claimable_runs_truncated AFTER TRUNCATE ON runs FOR EACH STATEMENT EXECUTE FUNCTION holdpoint_runs_truncated();

-- Requests: the approvals, questions and clarifications that runs wait for, and their decisions.
CREATE TABLE requests (
    number            bigint NOT NULL,
    created_at_ms     bigint NOT NULL,
    due_at_ms         bigint,
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
    -- The rule that settled the request.
    rule_id           text COLLATE "C",
    -- Copied from the resolution, for the list of decisions by person.
    resolved_by       text COLLATE "C",
    -- When, by whom and under which fence the grant of an allowed approval was redeemed, as JSON.
    redemption        text,
    -- The answers so far, while some are missing.
    partial_answers   text,
    -- Sensitive values, encrypted with the run's data key.
    sealed            text,
    resolution        text,
    body              text NOT NULL,
    -- request_id precedes run_id: the routes of a session name a request by its id alone.
    CONSTRAINT requests_pkey PRIMARY KEY (session_id, request_id, run_id),
    -- Faces that address a request by a bare id find it by its handle.
    CONSTRAINT requests_handle_key UNIQUE (handle),
    CONSTRAINT requests_redemption_of_allowed CHECK (redemption IS NULL OR outcome = 'allowed')
) WITH (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.05
);

-- A run's open requests and those settled after a number, in one range: open requests sort last. Each
-- batch and every view of a run reads it.
CREATE INDEX requests_of_run ON requests (session_id, run_id, coalesce(settled_number, 9223372036854775807));
-- The inbox: open requests of one kind.
CREATE INDEX requests_open ON requests (kind, session_id, run_id, request_id) WHERE settled_number IS NULL;
-- The expiry sweep. A decision clears the deadline.
CREATE INDEX requests_due ON requests (due_at_ms, session_id, run_id) WHERE due_at_ms IS NOT NULL;
-- The lists of decisions: all, and of one session. The server sorts decisions of the same moment.
CREATE INDEX requests_settled ON requests (settled_at_ms) WHERE settled_at_ms IS NOT NULL;
CREATE INDEX requests_settled_of_session ON requests (session_id, settled_at_ms) WHERE settled_at_ms IS NOT NULL;
-- How many requests a rule has settled. The number is counted, not stored: several sessions use a rule
-- at the same time.
CREATE INDEX requests_of_rule ON requests (rule_id) WHERE rule_id IS NOT NULL;

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
CREATE TRIGGER requests_written AFTER INSERT OR UPDATE ON requests FOR EACH ROW EXECUTE FUNCTION holdpoint_request_written();
CREATE TRIGGER requests_deleted AFTER DELETE ON requests FOR EACH ROW
    WHEN (OLD.settled_number IS NULL) EXECUTE FUNCTION holdpoint_row_changed();

-- Events: the log of each session, numbered without gaps. Streams, transcripts and the audit read it.
-- Each event has its author, the digest of its body, and the hash of the event before it.
CREATE TABLE events (
    event_id     bigint NOT NULL,
    timestamp_ms bigint NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    agent_id     text COLLATE "C" NOT NULL,
    type         text COLLATE "C" NOT NULL,
    actor        text COLLATE "C" NOT NULL DEFAULT '',
    body_digest  text COLLATE "C" NOT NULL DEFAULT '',
    prev         text COLLATE "C" NOT NULL DEFAULT '',
    body         text NOT NULL,
    -- The events of a run are read by it too: they lie between the run's first and last.
    CONSTRAINT events_pkey PRIMARY KEY (session_id, event_id),
    CONSTRAINT events_event_id_positive CHECK (event_id > 0),
    CONSTRAINT events_type_given CHECK (type <> '')
);

-- The newest output records of a session and of its runs.
CREATE INDEX events_output ON events (session_id, event_id) WHERE type = 'output';
-- The few events that raise or settle a request. The predicate appears word for word in the statement
-- that reads them.
CREATE INDEX events_about_requests ON events (session_id, event_id)
    WHERE type IN ('waiting_for_approval', 'approval_resolved', 'waiting_for_user_question', 'user_question_answered', 'user_question_resolved', 'parent_clarification_resolved');

-- Idempotency records: calls that may be repeated. The record of a name, which is an id that a caller
-- has chosen for a run or for what follows an event, stays as long as its run.
CREATE TABLE idempotency_records (
    created_at_ms   bigint NOT NULL,
    event_id        bigint,
    scope           text COLLATE "C" NOT NULL,
    operation       text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    fingerprint     text COLLATE "C" NOT NULL,
    session_id      text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" NOT NULL,
    CONSTRAINT idempotency_records_pkey PRIMARY KEY (scope, operation, idempotency_key),
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision', 'release', 'name'))
);

-- The sweep by age, and the names of a run.
CREATE INDEX idempotency_records_swept ON idempotency_records (created_at_ms) WHERE operation <> 'name';
CREATE INDEX idempotency_records_names ON idempotency_records (session_id, run_id) WHERE operation = 'name';

-- Effects: side effects that a committed decision still has to carry out, such as webhook deliveries.
-- A row stays after it is done.
CREATE TABLE effects (
    created_at_ms     bigint NOT NULL,
    attempts          bigint NOT NULL,
    due_at_ms         bigint,
    finished_at_ms    bigint,
    session_id        text COLLATE "C" NOT NULL,
    effect_id         text COLLATE "C" NOT NULL,
    run_id            text COLLATE "C" NOT NULL,
    kind              text COLLATE "C" NOT NULL,
    state             text COLLATE "C" NOT NULL,
    target_session_id text COLLATE "C" NOT NULL,
    -- The webhook to deliver to; '' for every other effect.
    webhook_id        text COLLATE "C" NOT NULL DEFAULT '',
    last_error        text,
    payload           text NOT NULL,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook', 'advance_request', 'notify')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) WITH (
    -- Every effect leaves dead entries at the head of effects_due.
    autovacuum_vacuum_scale_factor = 0.05
);

-- Pending effects, longest due first. webhook_id comes first so that a slow webhook delays no other
-- effect.
CREATE INDEX effects_due ON effects (webhook_id, due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- Whether an earlier event of the session is still pending for the webhook.
CREATE INDEX effects_owed_to_webhooks ON effects (session_id, webhook_id, effect_id) WHERE due_at_ms IS NOT NULL AND webhook_id <> '';
-- The deliveries of a webhook, by state.
CREATE INDEX effects_of_webhooks ON effects (webhook_id, state, created_at_ms, effect_id) WHERE webhook_id <> '';
-- The list of all effects; the server sorts those of the same moment. With effect_id in it, the planner
-- would use the index to find one effect in a small table. A session's list uses the primary key.
CREATE INDEX effects_list ON effects (created_at_ms);
-- The list of failed effects, which are few. The statement has the same sum, so that the planner does
-- not prefer effects_list.
CREATE INDEX effects_failed ON effects ((created_at_ms + 0), effect_id) WHERE state = 'failed';

-- Messages: the mailboxes of sessions. A row stays after it is acknowledged, so that a late redelivery
-- finds it.
CREATE TABLE messages (
    created_at_ms       bigint NOT NULL,
    delivery_attempts   bigint NOT NULL,
    lease_expires_at_ms bigint,
    acknowledged_at_ms  bigint,
    session_id          text COLLATE "C" NOT NULL,
    message_id          text COLLATE "C" NOT NULL,
    run_id              text COLLATE "C" NOT NULL,
    from_session_id     text COLLATE "C" NOT NULL,
    state               text COLLATE "C" NOT NULL,
    subject             text NOT NULL,
    last_error          text,
    payload             text NOT NULL,
    CONSTRAINT messages_pkey PRIMARY KEY (session_id, message_id),
    CONSTRAINT messages_message_id_given CHECK (message_id <> ''),
    CONSTRAINT messages_state_known CHECK (state IN ('pending', 'dead_letter', 'acknowledged')),
    CONSTRAINT messages_acknowledged_when_over CHECK ((acknowledged_at_ms IS NOT NULL) = (state = 'acknowledged')),
    CONSTRAINT messages_delivery_attempts_not_negative CHECK (delivery_attempts >= 0)
) WITH (
    -- A delivery changes no indexed column.
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.05
);

-- A session's mailbox, oldest first.
CREATE INDEX messages_waiting ON messages (session_id, state, created_at_ms, message_id) WHERE acknowledged_at_ms IS NULL;
-- A run's messages. Each claim reads them and seldom finds any.
CREATE INDEX messages_waiting_of_run ON messages (session_id, run_id) WHERE acknowledged_at_ms IS NULL;

CREATE TRIGGER messages_changed AFTER INSERT OR UPDATE ON messages FOR EACH ROW
    WHEN (current_setting('holdpoint.door', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION holdpoint_row_changed();

-- Rules: standing decisions. A rule for all sessions has session_id '*', which no session can have. The
-- session of another rule need not exist yet.
CREATE TABLE rules (
    created_at_ms     bigint NOT NULL,
    uses              bigint NOT NULL,
    expires_at_ms     bigint,
    max_uses          bigint,
    revoked_at_ms     bigint,
    session_id        text COLLATE "C" NOT NULL,
    rule_id           text COLLATE "C" NOT NULL,
    agent_id          text COLLATE "C",
    tool_name         text COLLATE "C",
    effect            text COLLATE "C" NOT NULL,
    -- Copied from the match of a rule for one exact input, for the index.
    input_digest      text COLLATE "C",
    source_run_id     text COLLATE "C",
    source_request_id text COLLATE "C",
    payload_digest    text COLLATE "C",
    -- The credential that created the rule on behalf of created_by.
    via_principal     text COLLATE "C",
    created_by        text NOT NULL,
    revoked_by        text,
    reason            text,
    text              text NOT NULL,
    match             text NOT NULL,
    CONSTRAINT rules_pkey PRIMARY KEY (session_id, rule_id),
    -- A rule is found by its id alone, and two callers that choose the same id collide here.
    CONSTRAINT rules_rule_id_key UNIQUE (rule_id),
    CONSTRAINT rules_rule_id_given CHECK (rule_id <> ''),
    CONSTRAINT rules_session_id_given CHECK (session_id <> ''),
    CONSTRAINT rules_match_given CHECK (match <> ''),
    CONSTRAINT rules_effect_known CHECK (effect IN ('allow', 'ask', 'deny')),
    CONSTRAINT rules_digest_of_tool CHECK (input_digest IS NULL OR tool_name IS NOT NULL),
    CONSTRAINT rules_max_uses_positive CHECK (max_uses > 0),
    -- Several sessions would have to write one row.
    CONSTRAINT rules_max_uses_of_session CHECK (max_uses IS NULL OR session_id <> '*'),
    CONSTRAINT rules_uses_within_max CHECK (uses BETWEEN 0 AND coalesce(max_uses, 0)),
    CONSTRAINT rules_source_whole CHECK (num_nulls(source_run_id, source_request_id) IN (0, 2)),
    CONSTRAINT rules_revoked_whole CHECK (num_nulls(revoked_at_ms, revoked_by) IN (0, 2))
) WITH (
    autovacuum_vacuum_scale_factor = 0.05
);

-- The rules that a suspension is matched against: those without a digest, and those for its exact
-- inputs. The latter may be very many.
CREATE INDEX rules_standing ON rules (session_id, input_digest) WHERE revoked_at_ms IS NULL;
-- The list of all rules; see effects_list. A session's list uses the primary key.
CREATE INDEX rules_list ON rules (created_at_ms);
-- Rules that still need their source run, for retention.
CREATE INDEX rules_of_source ON rules (source_run_id) WHERE source_run_id <> '';

-- Rule versions: the version of a session's rules, and of the rules for all sessions ('*'). It grows with
-- each change of a rule without a digest. Rules are matched before a decision takes its locks; the
-- decision compares this one number.
CREATE TABLE rule_versions (
    version    bigint NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    CONSTRAINT rule_versions_pkey PRIMARY KEY (session_id),
    CONSTRAINT rule_versions_positive CHECK (version > 0)
) WITH (
    fillfactor = 50
);

-- Rule changes: which rules for all sessions each of the last versions changed, so that a replica with a
-- known version reads only these. Each row names the version before its own, so that a reader notices a
-- missing row and reads all rules.
CREATE TABLE rule_changes (
    version  bigint NOT NULL,
    previous bigint NOT NULL DEFAULT 0,
    rule_id  text COLLATE "C" NOT NULL,
    CONSTRAINT rule_changes_pkey PRIMARY KEY (version, rule_id)
);

-- +goose StatementBegin
CREATE FUNCTION count_rule_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    step bigint := 1 + floor(random() * 4294967296)::bigint;
BEGIN
    -- Sorted, so that two transactions never wait for each other.
    WITH counted AS (
        INSERT INTO rule_versions (session_id, version)
        SELECT DISTINCT c.session_id, 1 + floor(random() * 1152921504606846976)::bigint
        FROM (SELECT DISTINCT session_id FROM changed WHERE input_digest IS NULL) AS c ORDER BY c.session_id
        ON CONFLICT (session_id) DO UPDATE SET version = rule_versions.version + step
        RETURNING session_id, version
    )
    INSERT INTO rule_changes (version, previous, rule_id)
    SELECT v.version, v.version - step, c.rule_id FROM counted AS v JOIN changed AS c ON c.session_id = v.session_id
    WHERE v.session_id = '*' AND c.input_digest IS NULL;
    -- Keeps the last 1,000 rows. One change in 16 looks for older ones.
    IF FOUND AND random() < 0.0625 THEN
        DELETE FROM rule_changes WHERE version < (SELECT n.version FROM rule_changes AS n ORDER BY n.version DESC OFFSET 1000 LIMIT 1);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER rules_added AFTER INSERT ON rules
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rule_changes();
CREATE TRIGGER rules_changed AFTER UPDATE ON rules
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rule_changes();

-- Tokens: the credentials of callers. Only the SHA-256 of a secret is stored. Rows are never deleted, so
-- one row tells that a token was once created.
CREATE TABLE tokens (
    created_at_ms     bigint  NOT NULL,
    previous_until_ms bigint,
    expires_at_ms     bigint,
    revoked_at_ms     bigint,
    last_used_at_ms   bigint,
    may_act_for       boolean NOT NULL,
    may_always        boolean NOT NULL,
    token_id          text COLLATE "C" NOT NULL,
    role              text COLLATE "C" NOT NULL,
    secret_hash       text COLLATE "C" NOT NULL,
    -- The secret before the last rotation.
    previous_hash     text COLLATE "C",
    principal         text COLLATE "C" NOT NULL,
    created_by        text COLLATE "C" NOT NULL,
    idempotency_key   text COLLATE "C",
    fingerprint       text COLLATE "C",
    name              text NOT NULL,
    hint              text NOT NULL,
    -- JSON lists of strings; NULL for none.
    groups            text,
    session_prefixes  text,
    agent_ids         text,
    CONSTRAINT tokens_pkey PRIMARY KEY (token_id),
    CONSTRAINT tokens_secret_hash_key UNIQUE (secret_hash),
    CONSTRAINT tokens_idempotency_key UNIQUE (created_by, idempotency_key),
    CONSTRAINT tokens_token_id_given CHECK (token_id <> ''),
    CONSTRAINT tokens_role_known CHECK (role IN ('observer', 'agent', 'operator', 'admin')),
    CONSTRAINT tokens_principal_given CHECK (principal <> ''),
    CONSTRAINT tokens_secret_hash_given CHECK (length(secret_hash) = 64),
    CONSTRAINT tokens_previous_whole CHECK (num_nulls(previous_hash, previous_until_ms) IN (0, 2)),
    CONSTRAINT tokens_key_whole CHECK (num_nulls(idempotency_key, fingerprint) IN (0, 2)),
    CONSTRAINT tokens_admin_unbound CHECK (role <> 'admin' OR (session_prefixes IS NULL AND agent_ids IS NULL))
);

CREATE INDEX tokens_previous_hash ON tokens (previous_hash) WHERE previous_hash IS NOT NULL;
-- Whether an admin is the last one.
CREATE INDEX tokens_admins ON tokens (role, token_id) WHERE revoked_at_ms IS NULL;
CREATE INDEX tokens_list ON tokens (created_at_ms, token_id);

-- Sign-ins: signed-in browsers, each with a token. Only the SHA-256 of the cookie is stored.
CREATE TABLE sign_ins (
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    cookie_hash   text COLLATE "C" NOT NULL,
    token_id      text COLLATE "C" NOT NULL,
    CONSTRAINT sign_ins_pkey PRIMARY KEY (cookie_hash),
    CONSTRAINT sign_ins_token_fkey FOREIGN KEY (token_id) REFERENCES tokens (token_id),
    CONSTRAINT sign_ins_cookie_hash_given CHECK (length(cookie_hash) = 64)
);

CREATE INDEX sign_ins_token ON sign_ins (token_id, expires_at_ms);
CREATE INDEX sign_ins_expired ON sign_ins (expires_at_ms);

-- Stream tickets: unused tickets that open one stream each. Only the SHA-256 of a ticket is stored.
CREATE TABLE stream_tickets (
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    ticket_hash   text COLLATE "C" NOT NULL,
    token_id      text COLLATE "C" NOT NULL,
    -- The stream ends with it: the hash of a token's secret, or a sign-in and the hash of its cookie.
    credential    text COLLATE "C" NOT NULL,
    path          text NOT NULL,
    CONSTRAINT stream_tickets_pkey PRIMARY KEY (ticket_hash),
    CONSTRAINT stream_tickets_token_fkey FOREIGN KEY (token_id) REFERENCES tokens (token_id),
    CONSTRAINT stream_tickets_ticket_hash_given CHECK (length(ticket_hash) = 64),
    CONSTRAINT stream_tickets_credential_given CHECK (credential <> ''),
    CONSTRAINT stream_tickets_path_given CHECK (path <> '')
);

CREATE INDEX stream_tickets_token ON stream_tickets (token_id, expires_at_ms);
CREATE INDEX stream_tickets_expired ON stream_tickets (expires_at_ms);

-- Webhooks: endpoints that events are posted to. The secrets are encrypted with data_key; settings is a
-- JSON object.
CREATE TABLE webhooks (
    previous_until_ms bigint NOT NULL,
    disabled_at_ms    bigint NOT NULL,
    created_at_ms     bigint NOT NULL,
    updated_at_ms     bigint NOT NULL,
    webhook_id        text COLLATE "C" NOT NULL,
    created_by        text NOT NULL,
    disabled_reason   text NOT NULL,
    data_key          text NOT NULL,
    secret            text NOT NULL,
    -- The secret before the last rotation; '' for none.
    previous_secret   text NOT NULL,
    settings          text NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id),
    CONSTRAINT webhooks_webhook_id_given CHECK (webhook_id <> ''),
    CONSTRAINT webhooks_secret_given CHECK (secret <> '' AND data_key <> '')
);

-- Signing keys: the public half of every key that a replica has signed with. Rows are never deleted:
-- old signatures stay verifiable.
CREATE TABLE signing_keys (
    created_at_ms bigint NOT NULL,
    key_id        text COLLATE "C" NOT NULL,
    public_key    text NOT NULL,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (key_id),
    CONSTRAINT signing_keys_key_id_given CHECK (length(key_id) = 43),
    CONSTRAINT signing_keys_public_key_given CHECK (length(public_key) = 43)
);

CREATE INDEX signing_keys_newest ON signing_keys (created_at_ms, key_id);

-- Audit checkpoints: signed lists of the newest events of changed sessions. Rows are never changed or
-- deleted.
CREATE TABLE audit_checkpoints (
    number      bigint NOT NULL,
    complete_ms bigint NOT NULL,
    signed      text NOT NULL,
    CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (number),
    CONSTRAINT audit_checkpoints_number_positive CHECK (number > 0),
    CONSTRAINT audit_checkpoints_signed_given CHECK (signed <> '')
);

-- Audit entries: the audit's own log, of changes in who may decide that are not events of a session. A
-- row is written with its change and sealed later, with its number and hashes. A sealed row never
-- changes; rows are never deleted.
CREATE TABLE audit_entries (
    arrival_id   bigint GENERATED ALWAYS AS IDENTITY,
    entry_id     bigint,
    timestamp_ms bigint NOT NULL,
    type         text COLLATE "C" NOT NULL,
    actor        text COLLATE "C" NOT NULL,
    body_digest  text COLLATE "C" NOT NULL,
    prev         text COLLATE "C",
    hash         text COLLATE "C",
    body         text NOT NULL,
    CONSTRAINT audit_entries_pkey PRIMARY KEY (arrival_id),
    CONSTRAINT audit_entries_entry_id_key UNIQUE (entry_id),
    CONSTRAINT audit_entries_type_given CHECK (type <> ''),
    CONSTRAINT audit_entries_actor_given CHECK (actor <> ''),
    CONSTRAINT audit_entries_body_digest_given CHECK (length(body_digest) = 64),
    CONSTRAINT audit_entries_entry_id_positive CHECK (entry_id > 0),
    CONSTRAINT audit_entries_sealed_whole CHECK (num_nulls(entry_id, prev, hash) IN (0, 3))
);

-- Rows that are not sealed yet.
CREATE INDEX audit_entries_pending ON audit_entries (arrival_id) WHERE entry_id IS NULL;

-- Addresses: where people are notified of requests they may decide. An address counts once its owner has typed
-- the code that was sent to it; verified_at_ms is 0 before.
CREATE TABLE addresses (
    verified_at_ms  bigint NOT NULL,
    code_until_ms   bigint NOT NULL,
    code_tries      bigint NOT NULL,
    created_at_ms   bigint NOT NULL,
    address_id      text COLLATE "C" NOT NULL,
    principal       text COLLATE "C" NOT NULL,
    channel         text COLLATE "C" NOT NULL,
    address         text COLLATE "C" NOT NULL,
    code_hash       text NOT NULL,
    CONSTRAINT addresses_pkey PRIMARY KEY (address_id),
    CONSTRAINT addresses_once UNIQUE (principal, channel, address)
);

-- How many codes were sent to each destination, and because of each person, since a moment. These rows outlive
-- the address. A destination is a hash.
CREATE TABLE code_counts (
    since_ms bigint NOT NULL,
    sent     bigint NOT NULL,
    last_ms  bigint NOT NULL,
    subject  text COLLATE "C" NOT NULL,
    -- Random, and different after each change.
    mark     text COLLATE "C" NOT NULL,
    CONSTRAINT code_counts_pkey PRIMARY KEY (subject)
);

CREATE INDEX code_counts_since ON code_counts (since_ms);

-- How many messages each person has been sent since a moment.
CREATE TABLE notice_counts (
    since_ms  bigint NOT NULL,
    sent      bigint NOT NULL,
    principal text COLLATE "C" NOT NULL,
    CONSTRAINT notice_counts_pkey PRIMARY KEY (principal)
);

-- The planner starts from statistics of these tables instead of its guesses.
ANALYZE sessions, runs, claimable_runs, requests, events, idempotency_records, effects, messages, rules;

-- +goose Down

DROP TABLE notice_counts;
DROP TABLE code_counts;
DROP TABLE addresses;
DROP TABLE audit_entries;
DROP TABLE audit_checkpoints;
DROP TABLE signing_keys;
DROP TABLE webhooks;
DROP TABLE stream_tickets;
DROP TABLE sign_ins;
DROP TABLE tokens;
DROP TABLE rules;
DROP TABLE rule_changes;
DROP TABLE rule_versions;
DROP TABLE messages;
DROP TABLE effects;
DROP TABLE idempotency_records;
DROP TABLE events;
DROP TABLE requests;
DROP TABLE runs;
DROP TABLE claimable_runs;
DROP TABLE sessions;
DROP FUNCTION count_rule_changes;
DROP FUNCTION holdpoint_request_written;
DROP FUNCTION holdpoint_runs_truncated;
DROP FUNCTION holdpoint_run_not_claimable;
DROP FUNCTION holdpoint_run_written;
DROP FUNCTION holdpoint_session_written;
DROP FUNCTION holdpoint_row_changed;
DROP FUNCTION holdpoint_refuse;
