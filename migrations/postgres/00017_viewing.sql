-- +goose Up

-- The request that the person has open there, with the session and the agent of its run; '' for none.
ALTER TABLE presence
    ADD COLUMN request_handle text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN session_id text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN agent_id text COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE presence
    DROP COLUMN request_handle,
    DROP COLUMN session_id,
    DROP COLUMN agent_id;
