-- +goose Up

-- Standing decisions. One that holds in all sessions has '*' for its session, which no
-- session can have, and the session of another may not be there yet: so there is no
-- foreign key.
CREATE TABLE rules (
    session_id        TEXT    NOT NULL,
    rule_id           TEXT    NOT NULL,
    agent_id          TEXT,
    tool_name         TEXT,
    effect            TEXT    NOT NULL,
    match             TEXT    NOT NULL,
    -- Copied out of the match, so that an index has it.
    input_digest      TEXT,
    reason            TEXT,
    text              TEXT    NOT NULL,
    created_by        TEXT    NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    expires_at_ms     INTEGER,
    max_uses          INTEGER,
    uses              INTEGER NOT NULL,
    source_run_id     TEXT,
    source_request_id TEXT,
    revoked_at_ms     INTEGER,
    revoked_by        TEXT,
    payload_digest    TEXT,
    CONSTRAINT rules_pkey PRIMARY KEY (session_id, rule_id),
    -- A rule is found by its id alone, and two callers who choose the same id meet here.
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

-- What a suspension is matched against: the rules that look at more than one exact
-- input, and those about the inputs that it has. There may be very many of the latter.
CREATE INDEX rules_standing ON rules (session_id, input_digest) WHERE revoked_at_ms IS NULL;
-- The list of all rules, and that of one session.
CREATE INDEX rules_list ON rules (created_at_ms, rule_id);
CREATE INDEX rules_list_of_session ON rules (session_id, created_at_ms, rule_id);

-- The rule that settled a request, and the answers that are there when some are still
-- missing.
ALTER TABLE requests ADD COLUMN rule_id TEXT
    CONSTRAINT requests_rule_settles CHECK (rule_id IS NULL OR (outcome IS NOT NULL AND outcome IN ('allowed', 'denied')));
ALTER TABLE requests ADD COLUMN partial_answers TEXT
    CONSTRAINT requests_partial_while_open CHECK (partial_answers IS NULL OR (outcome IS NULL AND kind = 'question'));

-- How many requests a rule has settled is counted and never written.
CREATE INDEX requests_of_rule ON requests (rule_id) WHERE rule_id IS NOT NULL;

-- Effects and idempotency records have one kind more each. SQLite changes no
-- constraint, so the tables are made anew and the rows move.
DROP INDEX effects_due;
DROP INDEX effects_list;
DROP INDEX effects_failed;
ALTER TABLE effects RENAME TO effects_before;

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
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) STRICT;

INSERT INTO effects (
    session_id, effect_id, run_id, kind, state, target_session_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
) SELECT
    session_id, effect_id, run_id, kind, state, target_session_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
FROM effects_before;
DROP TABLE effects_before;

-- What is owed, that which is due the longest first.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- The list of all effects, and that of those which were given up.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_failed ON effects (created_at_ms, effect_id) WHERE state = 'failed';

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
FROM idempotency_records_before;
DROP TABLE idempotency_records_before;

CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);

-- +goose Down

-- All rules are deleted: what they settled stays settled. So are answers to some
-- questions of a request, which is open as before, the reviews that are owed, and the
-- records of decisions about whole runs.
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
    CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel'))
) STRICT, WITHOUT ROWID;

INSERT INTO idempotency_records (operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms)
SELECT operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms
FROM idempotency_records_before
WHERE operation <> 'decision';
DROP TABLE idempotency_records_before;

CREATE INDEX idempotency_records_created ON idempotency_records (created_at_ms);

DROP INDEX effects_due;
DROP INDEX effects_list;
DROP INDEX effects_failed;
ALTER TABLE effects RENAME TO effects_before;

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

INSERT INTO effects (
    session_id, effect_id, run_id, kind, state, target_session_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
) SELECT
    session_id, effect_id, run_id, kind, state, target_session_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
FROM effects_before
WHERE kind <> 'review_approval';
DROP TABLE effects_before;

-- What is owed, that which is due the longest first.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- The list of all effects, and that of those which were given up.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_failed ON effects (created_at_ms, effect_id) WHERE state = 'failed';

DROP INDEX requests_of_rule;
ALTER TABLE requests DROP COLUMN partial_answers;
ALTER TABLE requests DROP COLUMN rule_id;

DROP TABLE rules;
