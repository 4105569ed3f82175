-- +goose Up

-- How many of the kept events of a session are output records.
ALTER TABLE sessions ADD COLUMN output_count INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET output_count = c.count
FROM (SELECT e.session_id, count(*) AS count FROM events AS e WHERE e.type = 'output' GROUP BY e.session_id) AS c
WHERE sessions.session_id = c.session_id;

-- +goose Down

ALTER TABLE sessions DROP COLUMN output_count;
