-- +goose Up

-- The messages that a channel withdraws once their request is settled: at most one for each request, channel
-- and person. A row is written before its message is sent, when sent_at_ms is 0. reference is how the channel
-- finds the message again. A withdrawal deletes the rows.
CREATE TABLE sent_messages (
    request_handle TEXT    NOT NULL,
    channel        TEXT    NOT NULL,
    principal      TEXT    NOT NULL,
    message_id     TEXT    NOT NULL,
    reference      TEXT    NOT NULL,
    begun_at_ms    INTEGER NOT NULL,
    sent_at_ms     INTEGER NOT NULL,
    CONSTRAINT sent_messages_pkey PRIMARY KEY (request_handle, channel, principal)
) STRICT;

CREATE INDEX sent_messages_begun ON sent_messages (begun_at_ms);

-- +goose Down

DROP TABLE sent_messages;
