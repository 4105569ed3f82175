-- +goose Up

-- Who is looking at an open request, as a JSON list.
ALTER TABLE requests ADD COLUMN acknowledgement TEXT;

-- The events that raise, acknowledge or settle a request. The predicate appears word for word in the
-- statements that read them.
DROP INDEX events_about_requests;
CREATE INDEX events_of_requests ON events (session_id, event_id)
    WHERE type = 'waiting_for_approval' OR type = 'approval_resolved' OR type = 'waiting_for_user_question'
        OR type = 'user_question_answered' OR type = 'user_question_resolved' OR type = 'parent_clarification_resolved'
        OR type = 'request_acknowledged';

-- +goose Down

DROP INDEX events_of_requests;
CREATE INDEX events_about_requests ON events (session_id, event_id)
    WHERE type = 'waiting_for_approval' OR type = 'approval_resolved' OR type = 'waiting_for_user_question'
        OR type = 'user_question_answered' OR type = 'user_question_resolved' OR type = 'parent_clarification_resolved';
ALTER TABLE requests DROP COLUMN acknowledgement;
