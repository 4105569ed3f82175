package sqlite

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/committer"
)

// The statements that take out staged rows: nobody was told of them, and nobody can read them. Without
// a line in staged_events they find nothing.
const (
	sqlStagedSessions = `SELECT g.session_id FROM staged_events AS g`
	sqlUnstageEvents  = `
DELETE FROM events WHERE rowid IN (
	SELECT e.rowid FROM staged_events AS g
	CROSS JOIN events AS e ON e.session_id = g.session_id AND e.event_id >= g.first_event_id
	WHERE g.session_id = $1 LIMIT $2)`
	sqlUnstage = `DELETE FROM staged_events WHERE session_id = $1`
)

// What every statement that reads events of the session, or of the run, $1 says of e: that it is there.
const (
	ofSessionThere = `
	AND e.event_id < coalesce((SELECT g.first_event_id FROM staged_events AS g WHERE g.session_id = $1), 9223372036854775807)`
	ofRunThere = `
	AND e.event_id < coalesce((
		SELECT g.first_event_id FROM runs AS o CROSS JOIN staged_events AS g ON g.session_id = o.session_id
		WHERE o.run_id = $1), 9223372036854775807)`
	// anyThere is the same of events of all sessions.
	anyThere = `NOT EXISTS (SELECT 1 FROM staged_events AS g WHERE g.session_id = e.session_id AND g.first_event_id <= e.event_id)`
)

// Bounds of a part: it has one row at least, and no more of so many bytes. One that has a transaction of its own may be
// twice as large, because it waits for a flush of its own.
const (
	partRows  = 32
	partBytes = 64 << 10
	alone     = 2
)

// staging is a large change of one session that is written in parts. Who has the write connection
// uses it.
type staging struct {
	sessionID string
	// events are those that are written before the transaction that decides, in the order of their
	// ids, and written is how many of them are in the database.
	events  []*model.Event
	written int
	// growth is how many times as large as at first the next part is.
	growth int
	// recorded says that the line in staged_events is there.
	recorded bool
	// gone says that its rows were taken out.
	gone bool
}

// newStaging takes from the writes what may be written before, which is nothing when they fit into one part.
func newStaging(sessionID string, writes *runs.Writes) *staging {
	last := 0
	for rest := writes.Events; len(rest) > 0; {
		last = len(rest)
		rest = rest[sizeOfPart(rest, 1):]
	}
	g := &staging{sessionID: sessionID, growth: 1, events: writes.Events[:len(writes.Events)-last]}
	writes.Events = writes.Events[len(g.events):]
	return g
}

// sizeOfPart returns how many of the events are the next part, of so many times the bounds.
func sizeOfPart(events []*model.Event, times int) int {
	bytes := 0
	for i, event := range events {
		if bytes += len(event.Body); i > 0 && (i >= times*partRows || bytes > times*partBytes) {
			return i
		}
	}
	return len(events)
}

// write writes the next part into an open transaction, and returns what is to be called once that is committed.
func (g *staging) write(ctx context.Context, c *connection, times int) (committed func(), err error) {
	if g.gone {
		return nil, fmt.Errorf("%w: the session was written meanwhile", committer.ErrRefused)
	}
	rest := g.events[g.written:]
	next := rest[:sizeOfPart(rest, times*g.growth)]
	if !g.recorded {
		// The line hides what follows the last event that the session has: none must have come since.
		switch lines, err := c.exec(ctx, sqlStage, g.sessionID, g.events[0].EventID); {
		case err != nil:
			return nil, err
		case lines == 0:
			return nil, fmt.Errorf("%w: the session was written meanwhile", committer.ErrRefused)
		}
	}
	if err := writeEvents.insertRows(ctx, c, next); err != nil {
		return nil, err
	}
	return func() { g.recorded, g.written = true, g.written+len(next) }, nil
}

// unstage takes out what is staged of a session, with transactions of others in between.
func (s *Store) unstage(ctx context.Context, sessionID string) error {
	for more := true; more; {
		write, err := s.writers.acquire(ctx)
		if err != nil {
			return err
		}
		more, err = unstagePart(ctx, write, sessionID, alone*partRows)
		if err == nil && !more {
			s.staged.remove(sessionID)
		}
		s.writers.release(write)
		if err != nil {
			return failed("take out staged rows", err)
		}
	}
	return nil
}

// unstagePart takes out so many staged rows of a session, and reports whether there are more.
func unstagePart(ctx context.Context, c *connection, sessionID string, rows int) (more bool, err error) {
	deleted, err := c.exec(ctx, sqlUnstageEvents, sessionID, rows)
	if err == nil && deleted < int64(rows) {
		_, err = c.exec(ctx, sqlUnstage, sessionID)
	}
	return deleted >= int64(rows), err
}

// unstageAll takes out what a process has staged that came to no end: as much as one command brings.
func unstageAll(ctx context.Context, c *connection) (sessions []string, err error) {
	err = c.query(ctx, sqlStagedSessions, nil, func(rows columns.Rows) error {
		return columns.Each(rows, func(id *string) []any { return []any{id} }, func(id *string) { sessions = append(sessions, *id) })
	})
	if err != nil {
		return nil, err
	}
	for _, sessionID := range sessions {
		for more := true; more; {
			if more, err = unstagePart(ctx, c, sessionID, 16*partRows); err != nil {
				return nil, err
			}
		}
	}
	return sessions, nil
}

// unstage makes what is staged of a session visible when the transaction decides that, and returns what
// is to be called once it is committed. Whatever else is staged of a session that it writes is taken out:
// nobody writes a session while its command is being written in parts, so that is of one which was
// refused, and whose rows could not be taken out.
func (b *batch) unstage(ctx context.Context, written []*model.Session) (committed func(), err error) {
	var ended []string
	for _, session := range written {
		sessionID := session.SessionID
		staged := b.store.staged.stagingOf(sessionID)
		if staged == nil {
			continue
		}
		ended = append(ended, sessionID)
		if staged == b.decides {
			if _, err := b.write.exec(ctx, sqlUnstage, sessionID); err != nil {
				return nil, err
			}
			continue
		}
		for more := true; more; {
			if more, err = unstagePart(ctx, b.write, sessionID, alone*partRows); err != nil {
				return nil, err
			}
		}
	}
	return func() {
		for _, sessionID := range ended {
			b.store.staged.remove(sessionID)
		}
	}, nil
}
