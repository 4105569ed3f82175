-- +goose Up

-- Runs that programs asked for in transactions of their own. The service creates each through its one
-- door after the commit, and deletes the row.
CREATE TABLE run_intake (
    created_at_ms bigint NOT NULL,
    -- When a replica may take the row; NULL once the run was refused for good.
    due_at_ms     bigint,
    attempts      bigint NOT NULL,
    intake_id     text COLLATE "C" NOT NULL,
    run_id        text COLLATE "C" NOT NULL,
    -- '' if the service is to make the session.
    session_id    text COLLATE "C" NOT NULL,
    state         text COLLATE "C" NOT NULL,
    last_error    text,
    body          text NOT NULL,
    CONSTRAINT run_intake_pkey PRIMARY KEY (intake_id),
    CONSTRAINT run_intake_state_known CHECK (state IN ('pending', 'failed')),
    CONSTRAINT run_intake_due_while_pending CHECK ((due_at_ms IS NOT NULL) = (state = 'pending')),
    CONSTRAINT run_intake_body_bounded CHECK (octet_length(body) <= 1048576),
    CONSTRAINT run_intake_attempts_not_negative CHECK (attempts >= 0)
) WITH (
    -- Every run leaves a dead entry at the head of run_intake_due.
    autovacuum_vacuum_scale_factor = 0.05
);

CREATE INDEX run_intake_due ON run_intake (due_at_ms, intake_id) WHERE due_at_ms IS NOT NULL;

-- +goose Down

DROP TABLE run_intake;
