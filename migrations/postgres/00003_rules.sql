-- +goose Up

-- Standing decisions, answers that come one by one, and what the faces of other
-- systems owe. The conventions are those of the first step. New constraints are weaker
-- than the old ones, or about columns that nobody has written; the server reads the
-- tables once to see for itself, and nobody writes to them meanwhile.

-- A rule that holds in all sessions has '*' for its session, which no session can have.
-- A rule outlives what it is about: the session may not be there yet.
CREATE TABLE rules (
    created_at_ms     bigint NOT NULL,
    expires_at_ms     bigint,
    max_uses          bigint,
    uses              bigint NOT NULL,
    revoked_at_ms     bigint,
    session_id        text COLLATE "C" NOT NULL,
    rule_id           text COLLATE "C" NOT NULL,
    agent_id          text COLLATE "C",
    tool_name         text COLLATE "C",
    effect            text COLLATE "C" NOT NULL,
    -- Copied out of the match, so that an index has it.
    input_digest      text COLLATE "C",
    source_run_id     text COLLATE "C",
    source_request_id text COLLATE "C",
    payload_digest    text COLLATE "C",
    created_by        text NOT NULL,
    revoked_by        text,
    reason            text,
    text              text NOT NULL,
    match             text NOT NULL,
    CONSTRAINT rules_pkey PRIMARY KEY (session_id, rule_id),
    -- A rule is found by its id alone, and two callers who choose the same id meet here.
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

-- What a suspension is matched against: the rules that look at more than one exact
-- input, and those about the inputs that it has. There may be very many of the latter.
CREATE INDEX rules_standing ON rules (session_id, input_digest) WHERE revoked_at_ms IS NULL;

-- The list of all rules; the server sorts those of one moment (see effects_list). The
-- list of one session uses the primary key.
CREATE INDEX rules_list ON rules (created_at_ms);

-- The rule that settled a request, and the answers that are there when some are still
-- missing. Columns without a default cost no rewrite.
ALTER TABLE requests
    ADD COLUMN rule_id text COLLATE "C",
    ADD COLUMN partial_answers text,
    ADD CONSTRAINT requests_rule_settles CHECK (rule_id IS NULL OR (outcome IS NOT NULL AND outcome IN ('allowed', 'denied'))),
    ADD CONSTRAINT requests_partial_while_open CHECK (partial_answers IS NULL OR (outcome IS NULL AND kind = 'question'));

-- How many requests a rule has settled is counted and never written: several sessions
-- use one rule at a time.
CREATE INDEX requests_of_rule ON requests (rule_id) WHERE rule_id IS NOT NULL;

ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval'));

ALTER TABLE idempotency_records
    DROP CONSTRAINT idempotency_records_operation_known,
    ADD CONSTRAINT idempotency_records_operation_known CHECK (
        operation IN ('run', 'approval', 'user_question', 'user_question_cancel', 'decision'));

ANALYZE rules;

-- +goose Down

-- All rules are deleted: what they settled stays settled. So are answers to some
-- questions of a request, which is open as before, the reviews that are owed, and the
-- records of decisions about whole runs, which then are no longer recognised when they
-- are repeated.
DELETE FROM idempotency_records WHERE operation = 'decision';

ALTER TABLE idempotency_records
    DROP CONSTRAINT idempotency_records_operation_known,
    ADD CONSTRAINT idempotency_records_operation_known CHECK (operation IN ('run', 'approval', 'user_question', 'user_question_cancel'));

DELETE FROM effects WHERE kind = 'review_approval';

ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer'));

-- The index and the constraints go with their columns.
ALTER TABLE requests
    DROP CONSTRAINT requests_rule_settles,
    DROP CONSTRAINT requests_partial_while_open,
    DROP COLUMN rule_id,
    DROP COLUMN partial_answers;

DROP TABLE rules;
