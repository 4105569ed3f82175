-- +goose Up

-- The remark that a rule shows to people, as JSON. Such a rule decides nothing, and its effect is 'ask' here: a
-- program from before there were hints asks people about the calls that it matches.
ALTER TABLE rules ADD COLUMN hint TEXT;

-- +goose Down

ALTER TABLE rules DROP COLUMN hint;
