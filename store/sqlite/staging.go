package sqlite

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/committer"
)

// The statements that delete staged rows, which were never visible. Without a row in
// staged_events they find nothing.
const (
	sqlStagedSessions = `SELECT g.session_id FROM staged_events AS g`
	sqlUnstageEvents  = `
DELETE FROM events WHERE rowid IN (
	SELECT e.rowid FROM staged_events AS g
	CROSS JOIN events AS e ON e.session_id = g.session_id AND e.event_id >= g.first_event_id
	WHERE g.session_id = $1 LIMIT $2)`
	sqlUnstage = `DELETE FROM staged_events WHERE session_id = $1`
)

// The condition on events e of the session, or of the run, $1 in every statement that reads
// them: the event is visible.
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

// Limits of a part: at least one row, and this many bytes. A part in its own transaction may be
// twice as large, because it needs its own flush.
const (
	partRows  = 32
	partBytes = 64 << 10
	alone     = 2
)

// staging is a large change of one session that is written in parts. Only the owner of the write
// connection uses it.
type staging struct {
	sessionID string
	// events are written before the deciding transaction, ordered by id, and written counts
	// those in the database.
	events  []*model.Event
	written int
	// growth is how many times as large as at first the next part is.
	growth int
	// recorded says that the row in staged_events exists.
	recorded bool
	// gone says that its rows were deleted.
	gone bool
}

// newStaging removes from the writes the events that can be written first: none if they fit into
// one part.
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

// sizeOfPart returns the number of events in the next part, with the limits multiplied by times.
func sizeOfPart(events []*model.Event, times int) int {
	bytes := 0
	for i, event := range events {
		if bytes += len(event.Body); i > 0 && (i >= times*partRows || bytes > times*partBytes) {
			return i
		}
	}
	return len(events)
}

// write writes the next part into an open transaction, and returns a function to call after the
// commit.
func (g *staging) write(ctx context.Context, c *connection, times int) (committed func(), err error) {
	if g.gone {
		return nil, fmt.Errorf("%w: the session was written meanwhile", committer.ErrRefused)
	}
	rest := g.events[g.written:]
	next := rest[:sizeOfPart(rest, times*g.growth)]
	if !g.recorded {
		// The row hides everything after the session's last event, so there must be no newer
		// event.
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

// unstage deletes a session's staged rows, with other transactions in between.
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

// unstagePart deletes a limited number of a session's staged rows, and reports whether there are
// more.
func unstagePart(ctx context.Context, c *connection, sessionID string, rows int) (more bool, err error) {
	deleted, err := c.exec(ctx, sqlUnstageEvents, sessionID, rows)
	if err == nil && deleted < int64(rows) {
		_, err = c.exec(ctx, sqlUnstage, sessionID)
	}
	return deleted >= int64(rows), err
}

// unstageAll deletes the unfinished staged rows of a process, at most one command's rows.
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

// unstage makes a session's staged rows visible if the transaction decides that, and returns a
// function to call after the commit. It deletes other staged rows of the written sessions. These
// belong to a rejected command whose rows could not be deleted, because a session is not written
// while its command is being written in parts.
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
