-- +goose Up

-- A session that has ended may still have queued runs: an effect ends them in parts. None of
-- them starts. SQLite changes no constraint, and making the table anew would move every
-- session; a CHECK that becomes wider may be changed in place
-- (https://www.sqlite.org/lang_altertable.html, section 7).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '(ended_at_ms IS NULL OR (active_run_id IS NULL AND queued_count = 0))', '(ended_at_ms IS NULL OR active_run_id IS NULL)')
WHERE type = 'table' AND name = 'sessions';
-- Every connection reads the schema again after a change of it.
CREATE VIEW sessions_changed AS SELECT 1;
DROP VIEW sessions_changed;
PRAGMA writable_schema = RESET;

-- +goose Down

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '(ended_at_ms IS NULL OR active_run_id IS NULL)', '(ended_at_ms IS NULL OR (active_run_id IS NULL AND queued_count = 0))')
WHERE type = 'table' AND name = 'sessions';
CREATE VIEW sessions_changed AS SELECT 1;
DROP VIEW sessions_changed;
PRAGMA writable_schema = RESET;
