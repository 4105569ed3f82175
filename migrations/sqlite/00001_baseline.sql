-- +goose Up

-- The whole schema, as of the first release. Later changes are numbered files of their own.
--
-- Conventions of every table:
--
--   * A column is the snake_case of the Go field in package runs. Go's 0 or "" for "none" is NULL.
--   * Times are integer milliseconds since the epoch. Text compares by byte, SQLite's own order.
--   * JSON documents are text, carried byte for byte.
--   * Large text comes last: SQLite reads a row from its start.
--   * Indexes of lists end with the keys of the list's order, so that a page is read where the last one
--     ended.
--
-- The process decides from cached rows and writes only if the session still has the cached version.
-- Versions grow by random steps from a random start and never recur: an id may be used again after
-- retention, and a restored file goes back to earlier rows.

-- Sessions: durable conversations, the unit of consistency.
CREATE TABLE sessions (
    session_id          TEXT    NOT NULL,
    agent_id            TEXT    NOT NULL,
    parent_session_id   TEXT,
    active_run_id       TEXT,
    queued_count        INTEGER NOT NULL,
    last_event_id       INTEGER NOT NULL,
    -- The first event that retention has kept; NULL while all are kept.
    first_kept_event_id INTEGER,
    -- How many of the kept events are output records.
    output_count        INTEGER NOT NULL DEFAULT 0,
    version             INTEGER NOT NULL DEFAULT 0,
    ended_at_ms         INTEGER,
    created_at_ms       INTEGER NOT NULL,
    updated_at_ms       INTEGER NOT NULL,
    -- The hash of the first event. It tells the session from an earlier one with the same id.
    life                TEXT,
    -- The hash of the newest event, with which the next one is chained.
    last_event_hash     TEXT,
    -- The credential that created the session; NULL for the service itself.
    principal           TEXT,
    -- The principals that created or claimed a run of the session, one a line.
    requesters          TEXT,
    metadata            TEXT,
    -- The label and origin that people recognise the session by, as a JSON document.
    about               TEXT,
    CONSTRAINT sessions_pkey PRIMARY KEY (session_id),
    CONSTRAINT sessions_session_id_given CHECK (session_id <> ''),
    CONSTRAINT sessions_queued_count_not_negative CHECK (queued_count >= 0),
    CONSTRAINT sessions_last_event_id_not_negative CHECK (last_event_id >= 0),
    -- Queued runs may remain for a while: an effect ends them in batches.
    CONSTRAINT sessions_ended_is_idle CHECK (ended_at_ms IS NULL OR active_run_id IS NULL)
) STRICT;

-- The lists of sessions: idle, ended, and of one agent.
CREATE INDEX sessions_idle ON sessions (session_id) WHERE ended_at_ms IS NULL AND active_run_id IS NULL;
CREATE INDEX sessions_ended ON sessions (session_id) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX sessions_of_agent ON sessions (agent_id, session_id);
-- Sessions that still need their parent, for retention; and the live sessions below a session.
CREATE INDEX sessions_of_parent ON sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;
CREATE INDEX sessions_below ON sessions (parent_session_id) WHERE parent_session_id <> '' AND ended_at_ms IS NULL;

-- Runs: executions of an agent, queued, running, waiting or over.
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
    question_count      INTEGER NOT NULL,
    payload_digest      TEXT    NOT NULL,
    submitted_at_ms     INTEGER NOT NULL,
    started_at_ms       INTEGER,
    finished_at_ms      INTEGER,
    updated_at_ms       INTEGER NOT NULL,
    first_event_id      INTEGER NOT NULL,
    last_event_id       INTEGER NOT NULL,
    attempt             INTEGER NOT NULL,
    stalled_attempts    INTEGER NOT NULL,
    -- Attempts that the worker reported as failed, and how often an operator retried the failed run.
    failed_attempts     INTEGER NOT NULL DEFAULT 0,
    retries             INTEGER NOT NULL DEFAULT 0,
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
    -- The credential that created the run, and the last one that claimed it; NULL for the service itself.
    principal           TEXT,
    holder_principal    TEXT,
    -- Whether a finished run had sensitive values.
    secrets_erased      INTEGER NOT NULL DEFAULT 0,
    -- The encrypted data key, while the run has sensitive values.
    data_key            TEXT,
    -- Who asks, of a parent clarification.
    requester           TEXT,
    text_preview        TEXT,
    error               TEXT,
    last_error          TEXT,
    metadata            TEXT,
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
    -- A running run is held or can be claimed: it never hangs.
    CONSTRAINT runs_running_is_claimable CHECK (status <> 'running' OR claimable_at_ms IS NOT NULL),
    CONSTRAINT runs_waiting_is_not_claimable CHECK (
        status NOT IN ('waiting_for_approval', 'waiting_for_user_question')
        OR (claimable_at_ms IS NULL AND (lease_expires_at_ms IS NULL OR attached = 1))),
    CONSTRAINT runs_lease_has_holder CHECK (lease_expires_at_ms IS NULL OR (fence > 0 AND worker_id IS NOT NULL))
) STRICT;

-- At most one run of a session is active. Clarifications and calls are not: several of a session wait at
-- the same time.
CREATE UNIQUE INDEX runs_one_active ON runs (session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification' AND kind <> 'call';
-- A session's queue and unfinished runs, and its pending clarifications.
CREATE INDEX runs_unfinished ON runs (session_id, first_event_id) WHERE finished_at_ms IS NULL;
CREATE INDEX runs_clarifications ON runs (session_id, run_id) WHERE finished_at_ms IS NULL AND kind = 'parent_clarification';
-- Runs that can be claimed, oldest first: of all agents, and of one.
CREATE INDEX runs_claimable ON runs (claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;
CREATE INDEX runs_claimable_of_agent ON runs (agent_id, claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;
-- Runs whose worker keeps its lease while they wait.
CREATE INDEX runs_attached ON runs (lease_expires_at_ms) WHERE attached = 1;
-- The lists of runs, by their filters. store/sqlite says which list uses which.
CREATE INDEX runs_list ON runs (submitted_at_ms, run_id);
CREATE INDEX runs_list_unfinished ON runs (submitted_at_ms, run_id) WHERE finished_at_ms IS NULL;
CREATE INDEX runs_list_finished ON runs (submitted_at_ms, run_id) WHERE finished_at_ms IS NOT NULL;
CREATE INDEX runs_list_of_session ON runs (session_id, submitted_at_ms, run_id);
CREATE INDEX runs_list_of_status ON runs (status, submitted_at_ms, run_id);
CREATE INDEX runs_list_of_kind ON runs (kind, submitted_at_ms, run_id);
CREATE INDEX runs_list_of_agent ON runs (agent_id, submitted_at_ms, run_id);
CREATE INDEX runs_list_of_agent_status ON runs (agent_id, status, submitted_at_ms, run_id);
CREATE INDEX runs_list_unfinished_of_agent ON runs (agent_id, submitted_at_ms, run_id) WHERE finished_at_ms IS NULL;
-- The list of sessions by the status of their active run.
CREATE INDEX runs_active_of_status ON runs (status, session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification';
-- Runs with sensitive values.
CREATE INDEX runs_data_keys ON runs (run_id) WHERE data_key IS NOT NULL;
-- Retention: finished runs, oldest first, and runs that still need their parent.
CREATE INDEX runs_finished ON runs (finished_at_ms) WHERE finished_at_ms IS NOT NULL;
CREATE INDEX runs_of_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

-- Run payloads: the inputs and checkpoints of runs. SQLite rewrites a whole row when one column changes;
-- these are large and seldom change.
CREATE TABLE run_payloads (
    run_id TEXT NOT NULL,
    member TEXT NOT NULL,
    value  TEXT NOT NULL,
    CONSTRAINT run_payloads_pkey PRIMARY KEY (run_id, member),
    CONSTRAINT run_payloads_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT run_payloads_member_known CHECK (member IN ('input', 'checkpoint'))
) STRICT;

-- Requests: the approvals, questions and clarifications that runs wait for, and their decisions.
CREATE TABLE requests (
    session_id        TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    request_id        TEXT    NOT NULL,
    handle            TEXT    NOT NULL,
    suspension_id     TEXT    NOT NULL,
    suspension_digest TEXT    NOT NULL,
    number            INTEGER NOT NULL,
    kind              TEXT    NOT NULL,
    due_at_ms         INTEGER,
    created_at_ms     INTEGER NOT NULL,
    outcome           TEXT,
    settled_number    INTEGER,
    settled_at_ms     INTEGER,
    -- The rule that settled the request.
    rule_id           TEXT,
    -- Copied from the resolution, for the list of decisions by person.
    resolved_by       TEXT,
    -- When, by whom and under which fence the grant of an allowed approval was redeemed, as JSON.
    redemption        TEXT,
    -- The answers so far, while some are missing.
    partial_answers   TEXT,
    -- Sensitive values, encrypted with the run's data key.
    sealed            TEXT,
    resolution        TEXT,
    body              TEXT    NOT NULL,
    CONSTRAINT requests_pkey PRIMARY KEY (session_id, request_id, run_id),
    -- Faces that address a request by a bare id find it by its handle.
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
    CONSTRAINT requests_due_while_open CHECK (due_at_ms IS NULL OR outcome IS NULL),
    CONSTRAINT requests_partial_while_open CHECK (partial_answers IS NULL OR (outcome IS NULL AND kind = 'question')),
    CONSTRAINT requests_rule_settles CHECK (rule_id IS NULL OR (outcome IS NOT NULL AND outcome IN ('allowed', 'denied'))),
    CONSTRAINT requests_redemption_of_allowed CHECK (redemption IS NULL OR outcome = 'allowed')
) STRICT;

-- The inbox: open requests of one kind.
CREATE INDEX requests_open ON requests (kind, session_id, run_id, request_id) WHERE outcome IS NULL;
-- The open requests of a run, and the requests of one suspension.
CREATE INDEX requests_run_open ON requests (run_id) WHERE outcome IS NULL;
CREATE INDEX requests_suspension ON requests (run_id, suspension_id);
-- The decisions of a run in their order; each has its own number.
CREATE UNIQUE INDEX requests_settled_once ON requests (run_id, settled_number) WHERE settled_number IS NOT NULL;
-- The expiry sweep. A decision clears the deadline.
CREATE INDEX requests_due ON requests (due_at_ms, session_id, run_id) WHERE due_at_ms IS NOT NULL;
-- The lists of decisions: all, and of one session.
CREATE INDEX requests_settled ON requests (settled_at_ms, handle) WHERE settled_at_ms IS NOT NULL;
CREATE INDEX requests_settled_of_session ON requests (session_id, settled_at_ms, handle) WHERE settled_at_ms IS NOT NULL;
-- How many requests a rule has settled. The number is counted, not stored.
CREATE INDEX requests_of_rule ON requests (rule_id) WHERE rule_id IS NOT NULL;

-- Events: the log of each session, numbered without gaps. Streams, transcripts and the audit read it.
-- Each event has its author, the digest of its body, and the hash of the event before it.
CREATE TABLE events (
    session_id   TEXT    NOT NULL,
    event_id     INTEGER NOT NULL,
    run_id       TEXT    NOT NULL,
    agent_id     TEXT    NOT NULL,
    type         TEXT    NOT NULL,
    timestamp_ms INTEGER NOT NULL,
    actor        TEXT    NOT NULL DEFAULT '',
    body_digest  TEXT    NOT NULL DEFAULT '',
    prev         TEXT    NOT NULL DEFAULT '',
    body         TEXT    NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (session_id, event_id),
    CONSTRAINT events_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT events_event_id_positive CHECK (event_id > 0),
    CONSTRAINT events_type_given CHECK (type <> '')
) STRICT;

-- The events of a run, and the newest output records of a run and of a session.
CREATE INDEX events_run ON events (run_id, event_id);
CREATE INDEX events_run_output ON events (run_id, event_id) WHERE type = 'output';
CREATE INDEX events_session_output ON events (session_id, event_id) WHERE type = 'output';
-- The few events that raise or settle a request. The predicate appears word for word in the statements
-- that read them. OR instead of IN: for IN, SQLite builds a table for each inserted row.
CREATE INDEX events_about_requests ON events (session_id, event_id)
    WHERE type = 'waiting_for_approval' OR type = 'approval_resolved' OR type = 'waiting_for_user_question'
        OR type = 'user_question_answered' OR type = 'user_question_resolved' OR type = 'parent_clarification_resolved';

-- Idempotency records: calls that may be repeated. The record of a name, which is an id that a caller
-- has chosen for a run or for what follows an event, stays as long as its run.
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

-- The sweep by age, and the names of a run.
CREATE INDEX idempotency_records_swept ON idempotency_records (created_at_ms) WHERE operation <> 'name';
CREATE INDEX idempotency_records_names ON idempotency_records (session_id, run_id) WHERE operation = 'name';

-- Effects: side effects that a committed decision still has to carry out, such as webhook deliveries.
-- A row stays after it is done.
CREATE TABLE effects (
    session_id        TEXT    NOT NULL,
    effect_id         TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    state             TEXT    NOT NULL,
    target_session_id TEXT    NOT NULL,
    -- The webhook to deliver to; '' for every other effect.
    webhook_id        TEXT    NOT NULL DEFAULT '',
    created_at_ms     INTEGER NOT NULL,
    due_at_ms         INTEGER,
    attempts          INTEGER NOT NULL,
    last_error        TEXT,
    finished_at_ms    INTEGER,
    payload           TEXT    NOT NULL,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook', 'advance_request', 'notify')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) STRICT;

-- Pending effects, longest due first. webhook_id comes first so that a slow webhook delays no other
-- effect.
CREATE INDEX effects_due ON effects (webhook_id, due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- Whether an earlier event of the session is still pending for the webhook.
CREATE INDEX effects_owed_to_webhooks ON effects (session_id, webhook_id, effect_id) WHERE due_at_ms IS NOT NULL AND webhook_id <> '';
-- The deliveries of a webhook, by state.
CREATE INDEX effects_of_webhooks ON effects (webhook_id, state, created_at_ms, effect_id) WHERE webhook_id <> '';
-- The lists of effects: all, of one session, and by state.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);

-- Messages: the mailboxes of sessions. A row stays after it is acknowledged, so that a late redelivery
-- finds it.
CREATE TABLE messages (
    session_id          TEXT    NOT NULL,
    message_id          TEXT    NOT NULL,
    run_id              TEXT    NOT NULL,
    from_session_id     TEXT    NOT NULL,
    state               TEXT    NOT NULL,
    subject             TEXT    NOT NULL,
    created_at_ms       INTEGER NOT NULL,
    delivery_attempts   INTEGER NOT NULL,
    lease_expires_at_ms INTEGER,
    last_error          TEXT,
    acknowledged_at_ms  INTEGER,
    payload             TEXT    NOT NULL,
    CONSTRAINT messages_pkey PRIMARY KEY (session_id, message_id),
    CONSTRAINT messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT messages_message_id_given CHECK (message_id <> ''),
    CONSTRAINT messages_state_known CHECK (state IN ('pending', 'dead_letter', 'acknowledged')),
    CONSTRAINT messages_acknowledged_whole CHECK ((acknowledged_at_ms IS NOT NULL) = (state = 'acknowledged')),
    CONSTRAINT messages_delivery_attempts_not_negative CHECK (delivery_attempts >= 0)
) STRICT;

-- A session's mailbox, oldest first.
CREATE INDEX messages_waiting ON messages (session_id, state, created_at_ms, message_id) WHERE acknowledged_at_ms IS NULL;
-- A run's messages. Each claim reads them and seldom finds any.
CREATE INDEX messages_waiting_of_run ON messages (session_id, run_id) WHERE acknowledged_at_ms IS NULL;

-- Rules: standing decisions. A rule for all sessions has session_id '*', which no session can have. The
-- session of another rule need not exist yet, so there is no foreign key.
CREATE TABLE rules (
    session_id        TEXT    NOT NULL,
    rule_id           TEXT    NOT NULL,
    agent_id          TEXT,
    tool_name         TEXT,
    effect            TEXT    NOT NULL,
    -- Copied from the match of a rule for one exact input, for the index.
    input_digest      TEXT,
    created_by        TEXT    NOT NULL,
    -- The credential that created the rule on behalf of created_by.
    via_principal     TEXT,
    created_at_ms     INTEGER NOT NULL,
    expires_at_ms     INTEGER,
    max_uses          INTEGER,
    uses              INTEGER NOT NULL,
    source_run_id     TEXT,
    source_request_id TEXT,
    revoked_at_ms     INTEGER,
    revoked_by        TEXT,
    payload_digest    TEXT,
    reason            TEXT,
    text              TEXT    NOT NULL,
    match             TEXT    NOT NULL,
    CONSTRAINT rules_pkey PRIMARY KEY (session_id, rule_id),
    -- A rule is found by its id alone, and two callers that choose the same id collide here.
    CONSTRAINT rules_rule_id_key UNIQUE (rule_id),
    CONSTRAINT rules_rule_id_given CHECK (rule_id <> ''),
    CONSTRAINT rules_session_id_given CHECK (session_id <> ''),
    CONSTRAINT rules_match_given CHECK (match <> ''),
    CONSTRAINT rules_effect_known CHECK (effect IN ('allow', 'ask', 'deny')),
    CONSTRAINT rules_digest_of_tool CHECK (input_digest IS NULL OR tool_name IS NOT NULL),
    CONSTRAINT rules_max_uses_positive CHECK (max_uses > 0),
    CONSTRAINT rules_max_uses_of_session CHECK (max_uses IS NULL OR session_id <> '*'),
    CONSTRAINT rules_uses_within_max CHECK (uses BETWEEN 0 AND coalesce(max_uses, 0)),
    CONSTRAINT rules_source_whole CHECK ((source_run_id IS NULL) = (source_request_id IS NULL)),
    CONSTRAINT rules_revoked_whole CHECK ((revoked_at_ms IS NULL) = (revoked_by IS NULL))
) STRICT;

-- The rules that a suspension is matched against: those without a digest, and those for its exact
-- inputs. The latter may be very many.
CREATE INDEX rules_standing ON rules (session_id, input_digest) WHERE revoked_at_ms IS NULL;
-- The lists of rules: all, and of one session.
CREATE INDEX rules_list ON rules (created_at_ms, rule_id);
CREATE INDEX rules_list_of_session ON rules (session_id, created_at_ms, rule_id);
-- Rules that still need their source run, for retention.
CREATE INDEX rules_of_source ON rules (source_run_id) WHERE source_run_id IS NOT NULL;

-- Rule versions: the version of a session's rules, and of the rules for all sessions ('*'). It grows with
-- each change of a rule without a digest. Rules are matched before a decision begins; the decision
-- compares this one number.
CREATE TABLE rule_versions (
    session_id TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    CONSTRAINT rule_versions_pkey PRIMARY KEY (session_id),
    CONSTRAINT rule_versions_positive CHECK (version > 0)
) STRICT, WITHOUT ROWID;

-- Rule changes: which rule for all sessions each of the last versions changed, so that a process with a
-- known version reads only these. Each row names the version before its own, so that a reader notices a
-- missing row and reads all rules.
CREATE TABLE rule_changes (
    version  INTEGER NOT NULL,
    previous INTEGER NOT NULL DEFAULT 0,
    rule_id  TEXT    NOT NULL,
    CONSTRAINT rule_changes_pkey PRIMARY KEY (version, rule_id)
) STRICT, WITHOUT ROWID;

-- Both triggers write the change first: it has the version that the next statement counts from.
-- +goose StatementBegin
CREATE TRIGGER rules_added AFTER INSERT ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_changes (version, previous, rule_id)
    SELECT v.version + 1 + (random() & 4294967295), v.version, NEW.rule_id FROM rule_versions AS v
    WHERE v.session_id = NEW.session_id AND NEW.session_id = '*';
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1 + (random() & 1152921504606846975))
    ON CONFLICT (session_id) DO UPDATE SET version = CASE session_id
        WHEN '*' THEN (SELECT max(c.version) FROM rule_changes AS c)
        ELSE version + 1 + (random() & 4294967295)
    END;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER rules_changed AFTER UPDATE ON rules WHEN NEW.input_digest IS NULL
BEGIN
    INSERT INTO rule_changes (version, previous, rule_id)
    SELECT v.version + 1 + (random() & 4294967295), v.version, NEW.rule_id FROM rule_versions AS v
    WHERE v.session_id = NEW.session_id AND NEW.session_id = '*';
    INSERT INTO rule_versions (session_id, version) VALUES (NEW.session_id, 1 + (random() & 1152921504606846975))
    ON CONFLICT (session_id) DO UPDATE SET version = CASE session_id
        WHEN '*' THEN (SELECT max(c.version) FROM rule_changes AS c)
        ELSE version + 1 + (random() & 4294967295)
    END;
END;
-- +goose StatementEnd

-- Keeps the last 1,000 changes. One change in 16 looks for older ones.
-- +goose StatementBegin
CREATE TRIGGER rule_version_counted AFTER UPDATE ON rule_versions WHEN NEW.session_id = '*' AND NEW.version % 16 = 0
BEGIN
    DELETE FROM rule_changes WHERE version < (SELECT n.version FROM rule_changes AS n ORDER BY n.version DESC LIMIT 1 OFFSET 1000);
END;
-- +goose StatementEnd

-- Tokens: the credentials of callers. Only the SHA-256 of a secret is stored. Rows are never deleted, so
-- one row tells that a token was once created.
CREATE TABLE tokens (
    token_id          TEXT    NOT NULL,
    name              TEXT    NOT NULL,
    role              TEXT    NOT NULL,
    principal         TEXT    NOT NULL,
    -- JSON lists of strings; NULL for none.
    groups            TEXT,
    session_prefixes  TEXT,
    agent_ids         TEXT,
    may_act_for       INTEGER NOT NULL,
    may_always        INTEGER NOT NULL,
    hint              TEXT    NOT NULL,
    secret_hash       TEXT    NOT NULL,
    -- The secret before the last rotation.
    previous_hash     TEXT,
    previous_until_ms INTEGER,
    created_at_ms     INTEGER NOT NULL,
    created_by        TEXT    NOT NULL,
    expires_at_ms     INTEGER,
    revoked_at_ms     INTEGER,
    last_used_at_ms   INTEGER,
    idempotency_key   TEXT,
    fingerprint       TEXT,
    CONSTRAINT tokens_pkey PRIMARY KEY (token_id),
    CONSTRAINT tokens_secret_hash_key UNIQUE (secret_hash),
    CONSTRAINT tokens_idempotency_key UNIQUE (created_by, idempotency_key),
    CONSTRAINT tokens_token_id_given CHECK (token_id <> ''),
    CONSTRAINT tokens_role_known CHECK (role IN ('observer', 'agent', 'operator', 'admin')),
    CONSTRAINT tokens_principal_given CHECK (principal <> ''),
    CONSTRAINT tokens_secret_hash_given CHECK (length(secret_hash) = 64),
    CONSTRAINT tokens_previous_whole CHECK ((previous_hash IS NULL) = (previous_until_ms IS NULL)),
    CONSTRAINT tokens_key_whole CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL)),
    CONSTRAINT tokens_admin_unbound CHECK (role <> 'admin' OR (session_prefixes IS NULL AND agent_ids IS NULL))
) STRICT;

CREATE INDEX tokens_previous_hash ON tokens (previous_hash) WHERE previous_hash IS NOT NULL;
-- Whether an admin is the last one.
CREATE INDEX tokens_admins ON tokens (role, token_id) WHERE revoked_at_ms IS NULL;
CREATE INDEX tokens_list ON tokens (created_at_ms, token_id);

-- Sign-ins: signed-in browsers, each with a token. Only the SHA-256 of the cookie is stored.
CREATE TABLE sign_ins (
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    cookie_hash   TEXT    NOT NULL,
    token_id      TEXT    NOT NULL,
    CONSTRAINT sign_ins_pkey PRIMARY KEY (cookie_hash),
    CONSTRAINT sign_ins_token_fkey FOREIGN KEY (token_id) REFERENCES tokens (token_id),
    CONSTRAINT sign_ins_cookie_hash_given CHECK (length(cookie_hash) = 64)
) STRICT;

CREATE INDEX sign_ins_token ON sign_ins (token_id, expires_at_ms);
CREATE INDEX sign_ins_expired ON sign_ins (expires_at_ms);

-- Stream tickets: unused tickets that open one stream each. Only the SHA-256 of a ticket is stored.
CREATE TABLE stream_tickets (
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    ticket_hash   TEXT    NOT NULL,
    token_id      TEXT    NOT NULL,
    -- The stream ends with it: the hash of a token's secret, or a sign-in and the hash of its cookie.
    credential    TEXT    NOT NULL,
    path          TEXT    NOT NULL,
    CONSTRAINT stream_tickets_pkey PRIMARY KEY (ticket_hash),
    CONSTRAINT stream_tickets_token_fkey FOREIGN KEY (token_id) REFERENCES tokens (token_id),
    CONSTRAINT stream_tickets_ticket_hash_given CHECK (length(ticket_hash) = 64),
    CONSTRAINT stream_tickets_credential_given CHECK (credential <> ''),
    CONSTRAINT stream_tickets_path_given CHECK (path <> '')
) STRICT;

CREATE INDEX stream_tickets_token ON stream_tickets (token_id, expires_at_ms);
CREATE INDEX stream_tickets_expired ON stream_tickets (expires_at_ms);

-- Webhooks: endpoints that events are posted to. The secrets are encrypted with data_key; settings is a
-- JSON object.
CREATE TABLE webhooks (
    webhook_id        TEXT    NOT NULL,
    settings          TEXT    NOT NULL,
    data_key          TEXT    NOT NULL,
    secret            TEXT    NOT NULL,
    -- The secret before the last rotation; '' for none.
    previous_secret   TEXT    NOT NULL,
    previous_until_ms INTEGER NOT NULL,
    disabled_at_ms    INTEGER NOT NULL,
    disabled_reason   TEXT    NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    created_by        TEXT    NOT NULL,
    updated_at_ms     INTEGER NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id),
    CONSTRAINT webhooks_webhook_id_given CHECK (webhook_id <> ''),
    CONSTRAINT webhooks_secret_given CHECK (secret <> '' AND data_key <> '')
) STRICT;

-- Signing keys: the public half of every key that the service has signed with. Rows are never deleted:
-- old signatures stay verifiable.
CREATE TABLE signing_keys (
    created_at_ms INTEGER NOT NULL,
    key_id        TEXT    NOT NULL,
    public_key    TEXT    NOT NULL,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (key_id),
    CONSTRAINT signing_keys_key_id_given CHECK (length(key_id) = 43),
    CONSTRAINT signing_keys_public_key_given CHECK (length(public_key) = 43)
) STRICT;

CREATE INDEX signing_keys_newest ON signing_keys (created_at_ms, key_id);

-- Audit checkpoints: signed lists of the newest events of changed sessions. Rows are never changed or
-- deleted.
CREATE TABLE audit_checkpoints (
    number      INTEGER NOT NULL,
    complete_ms INTEGER NOT NULL,
    signed      TEXT    NOT NULL,
    CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (number),
    CONSTRAINT audit_checkpoints_number_positive CHECK (number > 0),
    CONSTRAINT audit_checkpoints_signed_given CHECK (signed <> '')
) STRICT;

-- Audit entries: the audit's own log, of changes in who may decide that are not events of a session. A
-- row is written with its change and sealed later, with its number and hashes. A sealed row never
-- changes; rows are never deleted.
CREATE TABLE audit_entries (
    arrival_id   INTEGER NOT NULL,
    entry_id     INTEGER,
    timestamp_ms INTEGER NOT NULL,
    type         TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    body_digest  TEXT    NOT NULL,
    prev         TEXT,
    hash         TEXT,
    body         TEXT    NOT NULL,
    CONSTRAINT audit_entries_pkey PRIMARY KEY (arrival_id AUTOINCREMENT),
    CONSTRAINT audit_entries_entry_id_key UNIQUE (entry_id),
    CONSTRAINT audit_entries_type_given CHECK (type <> ''),
    CONSTRAINT audit_entries_actor_given CHECK (actor <> ''),
    CONSTRAINT audit_entries_body_digest_given CHECK (length(body_digest) = 64),
    CONSTRAINT audit_entries_entry_id_positive CHECK (entry_id > 0),
    CONSTRAINT audit_entries_sealed_whole CHECK ((entry_id IS NULL) = (prev IS NULL) AND (entry_id IS NULL) = (hash IS NULL))
) STRICT;

-- Rows that are not sealed yet.
CREATE INDEX audit_entries_pending ON audit_entries (arrival_id) WHERE entry_id IS NULL;

-- Addresses: where people are notified of requests they may decide. An address counts once its owner has typed
-- the code that was sent to it; verified_at_ms is 0 before.
CREATE TABLE addresses (
    address_id      TEXT    NOT NULL,
    principal       TEXT    NOT NULL,
    channel         TEXT    NOT NULL,
    address         TEXT    NOT NULL,
    verified_at_ms  INTEGER NOT NULL,
    code_hash       TEXT    NOT NULL,
    code_until_ms   INTEGER NOT NULL,
    code_tries      INTEGER NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    CONSTRAINT addresses_pkey PRIMARY KEY (address_id),
    CONSTRAINT addresses_once UNIQUE (principal, channel, address)
) STRICT;

-- How many codes were sent to each destination, and because of each person, since a moment. These rows outlive
-- the address. A destination is a hash.
CREATE TABLE code_counts (
    subject  TEXT    NOT NULL,
    since_ms INTEGER NOT NULL,
    sent     INTEGER NOT NULL,
    last_ms  INTEGER NOT NULL,
    -- Random, and different after each change.
    mark     TEXT    NOT NULL,
    CONSTRAINT code_counts_pkey PRIMARY KEY (subject)
) STRICT;

CREATE INDEX code_counts_since ON code_counts (since_ms);

-- How many messages each person has been sent since a moment.
CREATE TABLE notice_counts (
    principal TEXT    NOT NULL,
    since_ms  INTEGER NOT NULL,
    sent      INTEGER NOT NULL,
    CONSTRAINT notice_counts_pkey PRIMARY KEY (principal)
) STRICT;

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
DROP TABLE rule_changes;
DROP TABLE rule_versions;
DROP TABLE rules;
DROP TABLE messages;
DROP TABLE effects;
DROP TABLE idempotency_records;
DROP TABLE events;
DROP TABLE requests;
DROP TABLE run_payloads;
DROP TABLE runs;
DROP TABLE sessions;
