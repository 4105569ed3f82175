-- +goose NO TRANSACTION
-- +goose Up

-- Where events are posted to. The secrets are sealed under data_key; settings is a JSON object.
CREATE TABLE IF NOT EXISTS webhooks (
    previous_until_ms bigint NOT NULL,
    disabled_at_ms    bigint NOT NULL,
    created_at_ms     bigint NOT NULL,
    updated_at_ms     bigint NOT NULL,
    webhook_id        text COLLATE "C" NOT NULL,
    created_by        text NOT NULL,
    disabled_reason   text NOT NULL,
    data_key          text NOT NULL,
    secret            text NOT NULL,
    -- The secret before the last rotation; '' for none.
    previous_secret   text NOT NULL,
    settings          text NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id),
    CONSTRAINT webhooks_webhook_id_given CHECK (webhook_id <> ''),
    CONSTRAINT webhooks_secret_given CHECK (secret <> '' AND data_key <> '')
);

-- The webhook that an effect posts to; '' for every other effect. It comes first in the index of what
-- is due, so that what one webhook is owed stands in nobody's way. An index that was left
-- unfinished is dropped first.
ALTER TABLE effects ADD COLUMN IF NOT EXISTS webhook_id text COLLATE "C" NOT NULL DEFAULT '';

-- NOT VALID: the rows that are there fit, and a check of them would hold the table locked.
ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned', 'deliver_webhook')) NOT VALID;

DROP INDEX CONCURRENTLY IF EXISTS effects_due_of_webhook;
CREATE INDEX CONCURRENTLY effects_due_of_webhook ON effects (webhook_id, due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS effects_due;
ALTER INDEX effects_due_of_webhook RENAME TO effects_due;

-- Whether an earlier event of the session is still owed to the webhook.
DROP INDEX CONCURRENTLY IF EXISTS effects_owed_to_webhooks;
CREATE INDEX CONCURRENTLY effects_owed_to_webhooks ON effects (session_id, webhook_id, effect_id) WHERE due_at_ms IS NOT NULL AND webhook_id <> '';
-- What was given up, by webhook.
DROP INDEX CONCURRENTLY IF EXISTS effects_of_webhooks;
CREATE INDEX CONCURRENTLY effects_of_webhooks ON effects (webhook_id, state, created_at_ms, effect_id) WHERE webhook_id <> '';

-- +goose Down

-- What webhooks are owed is lost.
DELETE FROM effects WHERE kind = 'deliver_webhook';
DROP INDEX CONCURRENTLY IF EXISTS effects_of_webhooks;
DROP INDEX CONCURRENTLY IF EXISTS effects_owed_to_webhooks;
DROP INDEX CONCURRENTLY IF EXISTS effects_due_before;
CREATE INDEX CONCURRENTLY effects_due_before ON effects (due_at_ms, session_id, effect_id) WHERE due_at_ms IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS effects_due;
ALTER INDEX effects_due_before RENAME TO effects_due;
ALTER TABLE effects
    DROP CONSTRAINT effects_kind_known,
    ADD CONSTRAINT effects_kind_known CHECK (kind IN ('open_clarification', 'deliver_answer', 'review_approval', 'drain_session', 'cancel_abandoned')) NOT VALID;
ALTER TABLE effects DROP COLUMN IF EXISTS webhook_id;
DROP TABLE IF EXISTS webhooks;
