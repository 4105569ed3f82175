-- +goose Up

-- Who is notified of the requests that a rule leaves to people, as JSON.
ALTER TABLE rules ADD COLUMN escalation text;

-- +goose Down

ALTER TABLE rules DROP COLUMN escalation;
