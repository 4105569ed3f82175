-- +goose Up

-- The times of the day at which a person gets no messages, in minutes since midnight.
CREATE TABLE quiet_hours (
    principal    text COLLATE "C" NOT NULL PRIMARY KEY,
    zone         text NOT NULL,
    from_minutes bigint NOT NULL,
    to_minutes   bigint NOT NULL
);

-- +goose Down

DROP TABLE quiet_hours;
