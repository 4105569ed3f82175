-- +goose NO TRANSACTION
-- +goose Up

-- Where people can be told of what they may decide. An address counts once its owner has typed the code that was
-- sent to it. verified_at_ms is 0 before.
CREATE TABLE IF NOT EXISTS addresses (
    verified_at_ms  bigint NOT NULL,
    code_until_ms   bigint NOT NULL,
    code_tries      bigint NOT NULL,
    code_sent_at_ms bigint NOT NULL,
    created_at_ms   bigint NOT NULL,
    address_id      text COLLATE "C" NOT NULL,
    principal       text COLLATE "C" NOT NULL,
    channel         text COLLATE "C" NOT NULL,
    address         text COLLATE "C" NOT NULL,
    code_hash       text NOT NULL,
    CONSTRAINT addresses_pkey PRIMARY KEY (address_id),
    CONSTRAINT addresses_once UNIQUE (principal, channel, address)
);

-- How many messages a person was sent since a moment.
CREATE TABLE IF NOT EXISTS notice_counts (
    since_ms  bigint NOT NULL,
    sent      bigint NOT NULL,
    principal text COLLATE "C" NOT NULL,
    CONSTRAINT notice_counts_pkey PRIMARY KEY (principal)
);

-- NOT VALID: the rows that are there fit, and a check of them would hold the table locked.
ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook', 'advance_request', 'notify')) NOT VALID;

-- +goose Down

-- Messages that were not sent are lost.
DELETE FROM effects WHERE kind IN ('advance_request', 'notify');
ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook')) NOT VALID;
DROP TABLE IF EXISTS notice_counts;
DROP TABLE IF EXISTS addresses;
