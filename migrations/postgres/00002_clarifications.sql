-- +goose Up

-- A child's run asks its parent's session, and effects carry what a decision in one
-- session owes another. The conventions are those of the first step. New constraints
-- on the tables that are there are weaker than the old ones, but the server reads the
-- table once to see for itself, and nobody writes to it meanwhile.

-- Who asks, of a parent clarification. A column without a default costs no rewrite.
ALTER TABLE runs ADD COLUMN requester text;

ALTER TABLE requests
    DROP CONSTRAINT requests_kind_known,
    DROP CONSTRAINT requests_outcome_fits_kind,
    ADD CONSTRAINT requests_kind_known CHECK (kind IN ('approval', 'question', 'clarification')),
    ADD CONSTRAINT requests_outcome_fits_kind CHECK (
        outcome IN ('cancelled', 'expired')
        OR (kind = 'approval' AND outcome IN ('allowed', 'denied'))
        OR (kind IN ('question', 'clarification') AND outcome IN ('answered', 'declined')));

CREATE TABLE effects (
    created_at_ms     bigint NOT NULL,
    due_at_ms         bigint,
    attempts          bigint NOT NULL,
    finished_at_ms    bigint,
    session_id        text COLLATE "C" NOT NULL,
    effect_id         text COLLATE "C" NOT NULL,
    run_id            text COLLATE "C" NOT NULL,
    kind              text COLLATE "C" NOT NULL,
    state             text COLLATE "C" NOT NULL,
    target_session_id text COLLATE "C" NOT NULL,
    last_error        text,
    payload           text NOT NULL,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) WITH (
    -- Every effect leaves dead entries at the head of effects_due.
    autovacuum_vacuum_scale_factor = 0.05
);

-- What is owed, the longest due first. It holds what is pending and no more, so that
-- a start costs what is owed and not what was ever done.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;

-- The list of all effects; the server sorts those of one moment. With effect_id in it,
-- the planner would take it for the way to one effect while the table is small. The
-- list of one session uses the primary key.
CREATE INDEX effects_list ON effects (created_at_ms);

-- The list of what was given up, which is little among all that was done. The sum
-- stands in its statement too, so that the planner does not take effects_list for it.
CREATE INDEX effects_failed ON effects ((created_at_ms + 0), effect_id) WHERE state = 'failed';

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
    -- A reading changes no indexed column.
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.05
);

-- The mailbox of a session, oldest first.
CREATE INDEX messages_waiting ON messages (session_id, state, created_at_ms, message_id) WHERE acknowledged_at_ms IS NULL;

-- What waits for one run. Each claim reads it, and mostly finds nothing.
CREATE INDEX messages_waiting_of_run ON messages (session_id, run_id) WHERE acknowledged_at_ms IS NULL;

ANALYZE effects, messages;

-- +goose Down

-- What children asked is deleted with the rows that say so: a run that waits for an
-- answer then waits for nothing, and the numbers of its requests have a gap. Whoever
-- means to go on with such runs has their clarifications answered or the runs
-- cancelled first. The clarifications themselves are runs and stay; who asked is lost.
DROP TABLE messages;
DROP TABLE effects;

DELETE FROM requests WHERE kind = 'clarification';

ALTER TABLE requests
    DROP CONSTRAINT requests_kind_known,
    DROP CONSTRAINT requests_outcome_fits_kind,
    ADD CONSTRAINT requests_kind_known CHECK (kind IN ('approval', 'question')),
    ADD CONSTRAINT requests_outcome_fits_kind CHECK (
        outcome IN ('cancelled', 'expired')
        OR (kind = 'approval' AND outcome IN ('allowed', 'denied'))
        OR (kind = 'question' AND outcome IN ('answered', 'declined')));

ALTER TABLE runs DROP COLUMN requester;
