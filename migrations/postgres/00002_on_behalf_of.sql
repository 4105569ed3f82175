-- +goose Up

-- The person whose token it is; NULL for none.
ALTER TABLE tokens ADD COLUMN on_behalf_of text COLLATE "C";

-- +goose Down

ALTER TABLE tokens DROP COLUMN on_behalf_of;
