-- +goose NO TRANSACTION
-- +goose Up

-- The lists of runs by what may be asked for; the server sorts those of one moment (see
-- effects_list). No index holds a column that a wait changes: the server could then keep
-- no new version of a run beside the old one (see sessions in the first step). The
-- predicates stand in the statements of the lists word for word, and in no other, so that
-- the planner does not take these indexes for the way to one run while the table is
-- small. An index that was left unfinished is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS runs_list_unfinished;
CREATE INDEX CONCURRENTLY runs_list_unfinished ON runs (submitted_at_ms) WHERE coalesce(finished_at_ms, 0) = 0;
DROP INDEX CONCURRENTLY IF EXISTS runs_list_of_agent;
CREATE INDEX CONCURRENTLY runs_list_of_agent ON runs (agent_id, submitted_at_ms);
DROP INDEX CONCURRENTLY IF EXISTS runs_list_unfinished_of_agent;
CREATE INDEX CONCURRENTLY runs_list_unfinished_of_agent ON runs (agent_id, submitted_at_ms) WHERE coalesce(finished_at_ms, 0) = 0;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS runs_list_unfinished_of_agent;
DROP INDEX CONCURRENTLY IF EXISTS runs_list_of_agent;
DROP INDEX CONCURRENTLY IF EXISTS runs_list_unfinished;
