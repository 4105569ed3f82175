-- +goose Up

-- Until when a person counts as looking at their inbox; 0 after they left it.
CREATE TABLE presence (
    principal TEXT NOT NULL PRIMARY KEY,
    until_ms  INTEGER NOT NULL
);

-- +goose Down

DROP TABLE presence;
