-- +goose Up

-- It grows with every change of any row of the session. A constant default costs no
-- rewrite.
ALTER TABLE sessions ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE sessions DROP COLUMN version;
