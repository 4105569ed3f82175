-- +goose Up

-- Nothing: on Postgres doctor, and no index, looks for a second run in a session's slot. The number
-- is that of the other engine's migration.

-- +goose Down
