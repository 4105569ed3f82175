-- +goose Up

-- Whose credential a run was made with; NULL for those that were made before, and by the service.
ALTER TABLE runs ADD COLUMN principal TEXT;

-- +goose Down

-- Agents then cancel any run, and a run id that somebody else has taken is answered with that run.
ALTER TABLE runs DROP COLUMN principal;
