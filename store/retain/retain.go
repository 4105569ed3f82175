// Package retain deletes, for both engines, a session's rows whose retention period has passed:
// the oldest events of its log with their runs. It also redacts bodies of events. It defines the
// order of the steps; the statements are the engines'.
//
// It must not know a driver or the loops that call it.
package retain

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Transaction is a transaction that has nothing else in it.
type Transaction interface {
	// Ask runs a query and hands its rows to read.
	Ask(ctx context.Context, sql string, read func(columns.Rows) error, args ...any) error
	// Write runs a statement and returns how many rows it changed.
	Write(ctx context.Context, sql string, args ...any) (int64, error)
	// List returns a list of texts as one argument.
	List(texts []string) any
}

// Statements are the statements of an engine.
type Statements struct {
	// Lock locks the session $1 and returns the number of its first kept event. It returns no
	// row if the session does not exist or is locked.
	Lock string
	// End takes $1 session_id, $2 the first kept event, $3 a time, $4 the current time and $5 a
	// limit. It returns the oldest event that must stay.
	End string
	// Outputs has the number of output records among the session's events from $2 and before $3.
	Outputs string
	// Events deletes the session's events from $2 and before $3, and has the runs that they
	// are about.
	Events string
	// FirstKept sets the first kept event of $1 to $2, and subtracts $3 from its count of output
	// records.
	FirstKept string
	// Runs returns the runs in the list $2 whose last event is before $3.
	Runs string
	// OfRuns delete from $1 session_id the rows of the runs in the list $2, the runs last.
	OfRuns []string
	// Records deletes the idempotency records of the session $1.
	Records string
	// Session deletes the session $1 if it is empty and unchanged since $2. It returns the life
	// of the deleted session, "" if no checkpoint of the audit can name it.
	Session string
}

// Trim deletes up to limit events, oldest first, up to the first one of a run that must stay.
// Then it deletes the runs without events, and then the session if it is empty. addEntry writes
// the line of the audit's own log: without it, another session with the id would look like a
// forgery.
func Trim(ctx context.Context, tx Transaction, s *Statements, sessionID string, beforeMs, nowMs int64, limit int,
	addEntry func(*journal.Entry) error,
) (runs.Trimmed, error) {
	var trimmed runs.Trimmed
	first, there, err := number(ctx, tx, s.Lock, sessionID)
	if err != nil || !there {
		return trimmed, err
	}
	failpoint.Hit("retain.locked")
	end, there, err := number(ctx, tx, s.End, sessionID, first, beforeMs, nowMs, limit)
	if err != nil || !there || end <= first {
		return trimmed, err
	}
	outputs, _, err := number(ctx, tx, s.Outputs, sessionID, first, end)
	if err != nil {
		return trimmed, err
	}
	about, err := texts(ctx, tx, s.Events, sessionID, first, end)
	if err != nil {
		return trimmed, err
	}
	failpoint.Hit("retain.events")
	trimmed.Events = int(end - first)
	trimmed.More = trimmed.Events >= limit
	if _, err := tx.Write(ctx, s.FirstKept, sessionID, end, outputs); err != nil {
		return trimmed, err
	}
	failpoint.Hit("retain.first_kept")
	whole, err := texts(ctx, tx, s.Runs, sessionID, tx.List(about), end)
	if err != nil || len(whole) == 0 {
		return trimmed, err
	}
	trimmed.Runs = len(whole)
	for _, statement := range s.OfRuns {
		if _, err := tx.Write(ctx, statement, sessionID, tx.List(whole)); err != nil {
			return trimmed, err
		}
		failpoint.Hit("retain.rows")
	}
	removed, err := texts(ctx, tx, s.Session, sessionID, beforeMs)
	failpoint.Hit("retain.session")
	if err != nil || len(removed) == 0 {
		return trimmed, err
	}
	trimmed.Session = true
	// A session's keys do not apply to another session with its id.
	if _, err := tx.Write(ctx, s.Records, sessionID); err != nil {
		return trimmed, err
	}
	if life := removed[0]; life != "" {
		err = addEntry(journal.New(nowMs, "", api.AuditEvent{Type: api.AuditSessionDeleted, SessionID: sessionID, Life: life}))
	}
	return trimmed, err
}

// number returns the number that a query has, if it has a row.
func number(ctx context.Context, tx Transaction, sql string, args ...any) (found int64, there bool, err error) {
	err = tx.Ask(ctx, sql, func(rows columns.Rows) error {
		return columns.Each(rows, func(n *int64) []any { return []any{n} }, func(n *int64) { found, there = *n, true })
	}, args...)
	return found, there, err
}

// texts returns the distinct texts that a query has.
func texts(ctx context.Context, tx Transaction, sql string, args ...any) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	err := tx.Ask(ctx, sql, func(rows columns.Rows) error {
		return columns.Each(rows, func(text *string) []any { return []any{text} }, func(text *string) {
			if !seen[*text] {
				seen[*text] = true
				found = append(found, *text)
			}
		})
	}, args...)
	return found, err
}
