-- +goose Up

-- The messages that sent counts, separated by spaces: a repeated attempt is not counted again.
ALTER TABLE notice_counts ADD COLUMN message_ids text COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE notice_counts DROP COLUMN message_ids;
