-- +goose Up

-- The grant of an allowed approval is redeemed once: when, by whom and under which fence is here, as JSON.
-- NOT VALID: the rows that are there have none, and a check of them would hold the table locked.
ALTER TABLE requests
    ADD COLUMN redemption text,
    ADD CONSTRAINT requests_redemption_of_allowed CHECK (redemption IS NULL OR outcome = 'allowed') NOT VALID;

-- +goose Down

-- What was redeemed may be redeemed again.
ALTER TABLE requests DROP COLUMN redemption;
