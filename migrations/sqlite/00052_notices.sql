-- +goose Up

-- Where people can be told of what they may decide. An address counts once its owner has typed the code that was
-- sent to it. verified_at_ms is 0 before.
CREATE TABLE addresses (
    address_id      TEXT    NOT NULL,
    principal       TEXT    NOT NULL,
    channel         TEXT    NOT NULL,
    address         TEXT    NOT NULL,
    verified_at_ms  INTEGER NOT NULL,
    code_hash       TEXT    NOT NULL,
    code_until_ms   INTEGER NOT NULL,
    code_tries      INTEGER NOT NULL,
    code_sent_at_ms INTEGER NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    CONSTRAINT addresses_pkey PRIMARY KEY (address_id),
    CONSTRAINT addresses_once UNIQUE (principal, channel, address)
) STRICT;

-- How many messages a person was sent since a moment.
CREATE TABLE notice_counts (
    principal TEXT    NOT NULL,
    since_ms  INTEGER NOT NULL,
    sent      INTEGER NOT NULL,
    CONSTRAINT notice_counts_pkey PRIMARY KEY (principal)
) STRICT;

-- Effects have two kinds more. SQLite changes no constraint, so the table is made anew and the rows move.
DROP INDEX effects_due;
DROP INDEX effects_owed_to_webhooks;
DROP INDEX effects_of_webhooks;
DROP INDEX effects_list;
DROP INDEX effects_list_of_session;
DROP INDEX effects_list_of_state;
ALTER TABLE effects RENAME TO effects_before;

CREATE TABLE effects (
    session_id        TEXT    NOT NULL,
    effect_id         TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    state             TEXT    NOT NULL,
    target_session_id TEXT    NOT NULL,
    webhook_id        TEXT    NOT NULL DEFAULT '',
    payload           TEXT    NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    due_at_ms         INTEGER,
    attempts          INTEGER NOT NULL,
    last_error        TEXT,
    finished_at_ms    INTEGER,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook', 'advance_request', 'notify')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) STRICT;

INSERT INTO effects (
    session_id, effect_id, run_id, kind, state, target_session_id, webhook_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
) SELECT
    session_id, effect_id, run_id, kind, state, target_session_id, webhook_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
FROM effects_before;
DROP TABLE effects_before;

-- What is owed, that which is due the longest first; what webhooks are owed stands in nobody's way.
CREATE INDEX effects_due ON effects (webhook_id, due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- Whether an earlier event of the session is still owed to the webhook.
CREATE INDEX effects_owed_to_webhooks ON effects (session_id, webhook_id, effect_id) WHERE due_at_ms IS NOT NULL AND webhook_id <> '';
-- What was given up, by webhook.
CREATE INDEX effects_of_webhooks ON effects (webhook_id, state, created_at_ms, effect_id) WHERE webhook_id <> '';
-- The lists of all effects, of one session's, and of those in one state.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);

-- +goose Down

-- Messages that were not sent are lost.
DROP INDEX effects_due;
DROP INDEX effects_owed_to_webhooks;
DROP INDEX effects_of_webhooks;
DROP INDEX effects_list;
DROP INDEX effects_list_of_session;
DROP INDEX effects_list_of_state;
ALTER TABLE effects RENAME TO effects_before;

CREATE TABLE effects (
    session_id        TEXT    NOT NULL,
    effect_id         TEXT    NOT NULL,
    run_id            TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    state             TEXT    NOT NULL,
    target_session_id TEXT    NOT NULL,
    webhook_id        TEXT    NOT NULL DEFAULT '',
    payload           TEXT    NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    due_at_ms         INTEGER,
    attempts          INTEGER NOT NULL,
    last_error        TEXT,
    finished_at_ms    INTEGER,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook')),
    CONSTRAINT effects_state_known CHECK (state IN ('pending', 'done', 'failed')),
    CONSTRAINT effects_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT effects_finished_when_over CHECK ((finished_at_ms IS NOT NULL) = (state <> 'pending')),
    CONSTRAINT effects_attempts_not_negative CHECK (attempts >= 0)
) STRICT;

INSERT INTO effects (
    session_id, effect_id, run_id, kind, state, target_session_id, webhook_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
) SELECT
    session_id, effect_id, run_id, kind, state, target_session_id, webhook_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
FROM effects_before
WHERE kind NOT IN ('advance_request', 'notify');
DROP TABLE effects_before;

-- What is owed, that which is due the longest first; what webhooks are owed stands in nobody's way.
CREATE INDEX effects_due ON effects (webhook_id, due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- Whether an earlier event of the session is still owed to the webhook.
CREATE INDEX effects_owed_to_webhooks ON effects (session_id, webhook_id, effect_id) WHERE due_at_ms IS NOT NULL AND webhook_id <> '';
-- What was given up, by webhook.
CREATE INDEX effects_of_webhooks ON effects (webhook_id, state, created_at_ms, effect_id) WHERE webhook_id <> '';
-- The lists of all effects, of one session's, and of those in one state.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);

DROP TABLE notice_counts;
DROP TABLE addresses;
