-- +goose Up

-- A session that has ended may still have queued runs: an effect ends them in parts. None of
-- them starts. NOT VALID: the rows that are there fit the narrower rule that held before.
ALTER TABLE sessions
    DROP CONSTRAINT sessions_ended_is_idle,
    ADD CONSTRAINT sessions_ended_is_idle CHECK (ended_at_ms IS NULL OR active_run_id IS NULL) NOT VALID;

-- +goose Down

-- Refused while a session is being drained, which takes moments.
ALTER TABLE sessions
    DROP CONSTRAINT sessions_ended_is_idle,
    ADD CONSTRAINT sessions_ended_is_idle CHECK (ended_at_ms IS NULL OR (active_run_id IS NULL AND queued_count = 0));
