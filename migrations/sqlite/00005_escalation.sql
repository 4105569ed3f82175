-- +goose Up

-- The progress of the escalation of an open request, as JSON.
ALTER TABLE requests ADD COLUMN escalation_state TEXT;

-- +goose Down

ALTER TABLE requests DROP COLUMN escalation_state;
