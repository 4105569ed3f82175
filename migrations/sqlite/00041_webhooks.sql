-- +goose Up

-- Where events are posted to. The secrets are sealed under data_key; settings is a JSON object.
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

-- Effects have one kind more, and the webhook that they post to; '' for every other effect. SQLite
-- changes no constraint, so the table is made anew and the rows move.
DROP INDEX effects_due;
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
    session_id, effect_id, run_id, kind, state, target_session_id, payload,
    created_at_ms, due_at_ms, attempts, last_error, finished_at_ms
) SELECT
    session_id, effect_id, run_id, kind, state, target_session_id, payload,
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

-- What webhooks are owed is lost.
DROP INDEX effects_owed_to_webhooks;
DROP INDEX effects_of_webhooks;
DROP INDEX effects_due;
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
    payload           TEXT    NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    due_at_ms         INTEGER,
    attempts          INTEGER NOT NULL,
    last_error        TEXT,
    finished_at_ms    INTEGER,
    CONSTRAINT effects_pkey PRIMARY KEY (session_id, effect_id),
    CONSTRAINT effects_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (session_id),
    CONSTRAINT effects_effect_id_given CHECK (effect_id <> ''),
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned')),
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
WHERE kind <> 'deliver_webhook';
DROP TABLE effects_before;

-- What is owed, that which is due the longest first.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- The lists of all effects, of one session's, and of those in one state.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);
DROP TABLE webhooks;
