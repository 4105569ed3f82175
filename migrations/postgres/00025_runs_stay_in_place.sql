-- +goose NO TRANSACTION
-- +goose Up

-- The runs that were claimable before the triggers were there. Their rows are locked, so that
-- none stops being claimable meanwhile.
INSERT INTO claimable_runs (session_id, run_id, agent_id, claimable_at_ms)
SELECT r.session_id, r.run_id, r.agent_id, r.claimable_at_ms FROM runs AS r
WHERE r.claimable_at_ms IS NOT NULL
FOR NO KEY UPDATE
ON CONFLICT (session_id, run_id) DO UPDATE SET claimable_at_ms = excluded.claimable_at_ms;

ANALYZE claimable_runs;

-- No index of runs holds what a suspension, a decision or a claim changes. That one run at a
-- time holds its session's slot follows from active_run_id, which each change of it checks
-- under the session's lock; doctor looks for a second one.
DROP INDEX CONCURRENTLY IF EXISTS runs_claimable;
DROP INDEX CONCURRENTLY IF EXISTS runs_claimable_of_agent;
DROP INDEX CONCURRENTLY IF EXISTS runs_one_active;

-- Room for the new versions of a run beside the old one.
ALTER TABLE runs SET (fillfactor = 70);

-- +goose Down

ALTER TABLE runs SET (fillfactor = 80);
DROP INDEX CONCURRENTLY IF EXISTS runs_one_active;
CREATE UNIQUE INDEX CONCURRENTLY runs_one_active ON runs (session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification';
DROP INDEX CONCURRENTLY IF EXISTS runs_claimable_of_agent;
CREATE INDEX CONCURRENTLY runs_claimable_of_agent ON runs (agent_id, claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS runs_claimable;
CREATE INDEX CONCURRENTLY runs_claimable ON runs (claimable_at_ms, run_id) WHERE claimable_at_ms IS NOT NULL;
