-- +goose Up

-- The same events as before. SQLite makes a table of what stands in IN for each row that it inserts;
-- of OR it makes none. The predicate stands in the statements that read them word for word.
DROP INDEX events_about_requests;
CREATE INDEX events_about_requests ON events (session_id, event_id)
    WHERE type = 'waiting_for_approval' OR type = 'approval_resolved' OR type = 'waiting_for_user_question'
        OR type = 'user_question_answered' OR type = 'user_question_resolved' OR type = 'parent_clarification_resolved';

-- +goose Down

DROP INDEX events_about_requests;
CREATE INDEX events_about_requests ON events (session_id, event_id)
    WHERE type IN ('waiting_for_approval', 'approval_resolved', 'waiting_for_user_question', 'user_question_answered', 'user_question_resolved', 'parent_clarification_resolved');
