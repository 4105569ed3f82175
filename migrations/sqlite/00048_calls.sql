-- +goose Up

-- A call of an agent takes no slot of its session, as a parent clarification takes none: calls of
-- one session wait at the same time.
DROP INDEX runs_one_active;
CREATE UNIQUE INDEX runs_one_active ON runs (session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification' AND kind <> 'call';

-- +goose Down

-- Calls that wait would not fit in.
UPDATE runs SET status = 'cancelled', finished_at_ms = updated_at_ms, claimable_at_ms = NULL, lease_expires_at_ms = NULL
WHERE kind = 'call' AND finished_at_ms IS NULL;
DROP INDEX runs_one_active;
CREATE UNIQUE INDEX runs_one_active ON runs (session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification';
