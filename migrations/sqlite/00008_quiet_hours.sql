-- +goose Up

-- The times of the day at which a person gets no messages, in minutes since midnight.
CREATE TABLE quiet_hours (
    principal    TEXT NOT NULL PRIMARY KEY,
    zone         TEXT NOT NULL,
    from_minutes INTEGER NOT NULL,
    to_minutes   INTEGER NOT NULL
);

-- +goose Down

DROP TABLE quiet_hours;
