-- +goose Up

-- The request that the person has open there, with the session and the agent of its run; '' for none.
ALTER TABLE presence ADD COLUMN request_handle TEXT NOT NULL DEFAULT '';
ALTER TABLE presence ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
ALTER TABLE presence ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE presence DROP COLUMN request_handle;
ALTER TABLE presence DROP COLUMN session_id;
ALTER TABLE presence DROP COLUMN agent_id;
