-- +goose Up

-- The lists of runs and sessions by what may be asked for. Each index ends with the keys
-- of the list's order, so that a page is read off it from where the last one ended.
-- store/sqlite says which list uses which.
CREATE INDEX runs_list_of_status ON runs (status, submitted_at_ms, run_id);
CREATE INDEX runs_list_of_agent ON runs (agent_id, submitted_at_ms, run_id);
CREATE INDEX runs_list_of_agent_status ON runs (agent_id, status, submitted_at_ms, run_id);
CREATE INDEX runs_list_unfinished_of_agent ON runs (agent_id, submitted_at_ms, run_id) WHERE finished_at_ms IS NULL;
CREATE INDEX runs_list_finished ON runs (submitted_at_ms, run_id) WHERE finished_at_ms IS NOT NULL;
CREATE INDEX runs_list_of_kind ON runs (kind, submitted_at_ms, run_id);

-- The sessions whose active run has a status, those that have no active run, those that
-- have ended, and those of one agent.
CREATE INDEX runs_active_of_status ON runs (status, session_id)
    WHERE status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND kind <> 'parent_clarification';
CREATE INDEX sessions_idle ON sessions (session_id) WHERE ended_at_ms IS NULL AND active_run_id IS NULL;
CREATE INDEX sessions_ended ON sessions (session_id) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX sessions_of_agent ON sessions (agent_id, session_id);

CREATE INDEX effects_list_of_session ON effects (session_id, created_at_ms, effect_id);
CREATE INDEX effects_list_of_state ON effects (state, created_at_ms, effect_id);
DROP INDEX effects_failed;

-- +goose Down

CREATE INDEX effects_failed ON effects (created_at_ms, effect_id) WHERE state = 'failed';
DROP INDEX effects_list_of_state;
DROP INDEX effects_list_of_session;
DROP INDEX sessions_of_agent;
DROP INDEX sessions_ended;
DROP INDEX sessions_idle;
DROP INDEX runs_active_of_status;
DROP INDEX runs_list_of_kind;
DROP INDEX runs_list_finished;
DROP INDEX runs_list_unfinished_of_agent;
DROP INDEX runs_list_of_agent_status;
DROP INDEX runs_list_of_agent;
DROP INDEX runs_list_of_status;
