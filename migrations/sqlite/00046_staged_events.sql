-- +goose Up

-- The sessions to which a large command is being written in parts: the events from first_event_id on are not
-- there for any reader until the line is deleted, in the transaction that decides. A line that
-- is there when the file is opened is of a command that came to no end.
CREATE TABLE staged_events (
    session_id     TEXT    NOT NULL,
    first_event_id INTEGER NOT NULL,
    CONSTRAINT staged_events_pkey PRIMARY KEY (session_id),
    CONSTRAINT staged_events_first_event_id_positive CHECK (first_event_id > 0)
) STRICT, WITHOUT ROWID;

-- +goose Down

DELETE FROM events WHERE rowid IN (
    SELECT e.rowid FROM staged_events AS g
    CROSS JOIN events AS e ON e.session_id = g.session_id AND e.event_id >= g.first_event_id);
DROP TABLE staged_events;
