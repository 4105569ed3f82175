// Package retain deletes, for both engines, what is past its horizon in one session: the
// oldest events of its log with the runs that they are about. It also takes out the bodies of events
// that somebody wants redacted. It holds the order of the
// steps; the statements are the engines'.
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
	// Lock locks the session $1 and has the number of its first kept event. It has no row
	// when there is no such session, or when somebody else has it locked.
	Lock string
	// End, of $1 session_id, $2 the first kept event, $3 a moment, $4 the present one and $5
	// a limit, has the number of the first event that must stay of the oldest ones.
	End string
	// Outputs has the number of output records among the session's events from $2 and before $3.
	Outputs string
	// Events deletes the session's events from $2 and before $3, and has the runs that they
	// are about.
	Events string
	// FirstKept sets the number of the first kept event of $1 to $2, and takes $3 output records
	// from its count.
	FirstKept string
	// Runs has those of the list $2 of runs whose last event is before $3.
	Runs string
	// OfRuns delete from $1 session_id what the runs in the list $2 have, the runs last.
	OfRuns []string
	// Records deletes the idempotency records of the session $1.
	Records string
	// Session deletes the session $1 when nothing is left of it and nobody has touched it
	// since $2. It has the life of the session that was deleted, "" when no checkpoint of the audit can
	// name it.
	Session string
}

// Trim deletes events, oldest first and at most limit, up to the first one of a run that
// must stay, then the runs that have none left, and then the session when that was all. addEntry writes
// the line of the audit's own log about it: without it, another session with the id would look like a
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
	// A key of the session says nothing about another session with its id.
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
