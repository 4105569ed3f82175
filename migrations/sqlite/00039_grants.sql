-- +goose Up

-- The grant of an allowed approval is redeemed once: when, by whom and under which fence is here, as JSON.
ALTER TABLE requests ADD COLUMN redemption TEXT
    CONSTRAINT requests_redemption_of_allowed CHECK (redemption IS NULL OR outcome = 'allowed');

-- +goose Down

-- What was redeemed may be redeemed again.
ALTER TABLE requests DROP COLUMN redemption;
