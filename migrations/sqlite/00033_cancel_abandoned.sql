-- +goose Up

-- Effects have one kind more. SQLite changes no constraint, so the table is made anew and the
-- rows move.
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
FROM effects_before;
DROP TABLE effects_before;

-- What is owed, that which is due the longest first.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- The lists of all effects, of one session's, and of those in one state.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);

-- +goose Down

-- What was abandoned stays open until somebody decides.
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
    CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session')),
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
WHERE kind <> 'cancel_abandoned';
DROP TABLE effects_before;

-- What is owed, that which is due the longest first.
CREATE INDEX effects_due ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
-- The lists of all effects, of one session's, and of those in one state.
CREATE INDEX effects_list ON effects (created_at_ms, effect_id);
CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);
