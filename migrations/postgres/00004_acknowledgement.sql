-- +goose NO TRANSACTION
-- +goose Up

-- Who is looking at an open request, as a JSON list.
ALTER TABLE requests ADD COLUMN IF NOT EXISTS acknowledgement text;

-- The events that raise, acknowledge or settle a request, in place of events_about_requests. The predicate
-- appears word for word in the statements that read them. Replicas of the version before read their events
-- along the primary key meanwhile. Making or dropping an index waits for every older snapshot of the database, and
-- nobody waits for it: with a timeout it would be made again and again behind reads of more than a second.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS events_of_requests;
CREATE INDEX CONCURRENTLY events_of_requests ON events (session_id, event_id)
    WHERE type IN ('waiting_for_approval', 'approval_resolved', 'waiting_for_user_question', 'user_question_answered', 'user_question_resolved', 'parent_clarification_resolved', 'request_acknowledged');
DROP INDEX CONCURRENTLY IF EXISTS events_about_requests;

-- +goose Down

SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS events_about_requests;
CREATE INDEX CONCURRENTLY events_about_requests ON events (session_id, event_id)
    WHERE type IN ('waiting_for_approval', 'approval_resolved', 'waiting_for_user_question', 'user_question_answered', 'user_question_resolved', 'parent_clarification_resolved');
DROP INDEX CONCURRENTLY IF EXISTS events_of_requests;
SET lock_timeout = '1s';
ALTER TABLE requests DROP COLUMN IF EXISTS acknowledgement;
