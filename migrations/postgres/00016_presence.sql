-- +goose Up

-- Until when a person counts as looking at their inbox; 0 after they left it.
CREATE TABLE presence (
    principal text COLLATE "C" NOT NULL PRIMARY KEY,
    until_ms  bigint NOT NULL
);

-- +goose Down

DROP TABLE presence;
