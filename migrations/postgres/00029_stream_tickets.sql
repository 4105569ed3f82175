-- +goose Up

-- The tickets of streams that are not used yet. Of a ticket there is the SHA-256 alone.
CREATE TABLE stream_tickets (
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    ticket_hash   text COLLATE "C" NOT NULL,
    token_id      text COLLATE "C" NOT NULL,
    -- What the stream ends with: the hash of a token's secret, or a sign-in and that of its cookie.
    credential    text COLLATE "C" NOT NULL,
    path          text NOT NULL,
    CONSTRAINT stream_tickets_pkey PRIMARY KEY (ticket_hash),
    CONSTRAINT stream_tickets_token_fkey FOREIGN KEY (token_id) REFERENCES tokens (token_id),
    CONSTRAINT stream_tickets_ticket_hash_given CHECK (length(ticket_hash) = 64),
    CONSTRAINT stream_tickets_credential_given CHECK (credential <> ''),
    CONSTRAINT stream_tickets_path_given CHECK (path <> '')
);

CREATE INDEX stream_tickets_token ON stream_tickets (token_id, expires_at_ms);
CREATE INDEX stream_tickets_expired ON stream_tickets (expires_at_ms);

-- +goose Down

-- Tickets that are not used yet do not work.
DROP TABLE stream_tickets;
