-- +goose NO TRANSACTION
-- +goose Up

-- How many of the kept events of a session are output records.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS output_count bigint NOT NULL DEFAULT 0;
UPDATE sessions AS s SET output_count = c.count
FROM (SELECT e.session_id, count(*) AS count FROM events AS e WHERE e.type = 'output' GROUP BY e.session_id) AS c
WHERE s.session_id = c.session_id AND s.output_count <> c.count;

-- +goose Down

ALTER TABLE sessions DROP COLUMN output_count;
