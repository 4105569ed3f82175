-- +goose Up

-- Whose credential a session was made with, and a run was claimed with for the last time; NULL for
-- what was before, and for the service's own.
ALTER TABLE sessions ADD COLUMN principal TEXT;
ALTER TABLE runs ADD COLUMN holder_principal TEXT;

-- +goose Down

-- Whoever knows the fence of a claim may then go on with the run.
ALTER TABLE runs DROP COLUMN holder_principal;
ALTER TABLE sessions DROP COLUMN principal;
