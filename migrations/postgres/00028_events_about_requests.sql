-- +goose NO TRANSACTION
-- +goose Up

-- The events by which a request is raised or settled, which are few among those of a worker. The
-- predicate stands in the statement that reads them word for word. An index that was left
-- unfinished is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS events_about_requests;
CREATE INDEX CONCURRENTLY events_about_requests ON events (session_id, event_id)
    WHERE type IN ('waiting_for_approval', 'approval_resolved', 'waiting_for_user_question', 'user_question_answered', 'user_question_resolved', 'parent_clarification_resolved');

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS events_about_requests;
