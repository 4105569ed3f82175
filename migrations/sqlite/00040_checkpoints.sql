-- +goose Up

-- The newest events of the sessions that moved, signed. Rows are never changed and never deleted.
CREATE TABLE audit_checkpoints (
    number      INTEGER NOT NULL,
    complete_ms INTEGER NOT NULL,
    signed      TEXT NOT NULL,
    CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (number),
    CONSTRAINT audit_checkpoints_number_positive CHECK (number > 0),
    CONSTRAINT audit_checkpoints_signed_given CHECK (signed <> '')
) STRICT;

-- +goose Down

-- What shows that the log was not written anew is deleted.
DROP TABLE audit_checkpoints;
