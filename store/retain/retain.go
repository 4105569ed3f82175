// Package retain deletes, for both engines, a session's rows whose retention period has passed:
// the oldest events of its log with their runs. It also redacts bodies of events, and seals values again.
//
// It must not know a driver or the loops that call it.
package retain

import (
	"cmp"
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/tokens"
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

// Statements are the statements of retention that differ between the engines.
type Statements struct {
	// TrimLock locks the session $1 and returns the number of its first kept event. It returns no
	// row if the session does not exist or is locked.
	TrimLock string
	// TrimEnd takes $1 session_id, $2 the first kept event, $3 a time, $4 the current time and $5 a
	// limit. It returns the oldest event that must stay.
	TrimEnd string
	// TrimFirstKept sets the first kept event of $1 to $2, and subtracts $3 from its count of output
	// records.
	TrimFirstKept string
	// TrimWhole returns the runs in the list $2 whose last event is before $3.
	TrimWhole string
	// TrimRuns delete from $1 session_id the rows of the runs in the list $2, the runs last.
	TrimRuns []string
	// TrimEmpty returns a row if TrimSession would delete the session, with the same arguments.
	TrimEmpty string
	// TrimSession deletes the session $1 if it is empty, unchanged since $2 and without a rule in force at $3. It returns the life
	// of the deleted session, "" if no checkpoint of the audit can name it.
	TrimSession string
}

// The statements of retention that are the same in both engines, whose tests check their plans: of session $1,
// the number of outputs among the events from $2 and before $3, the deletion of these events, which returns
// their runs, and the deletion of $2 of the session's idempotency records and of its rules' version.
const (
	sqlTrimOutputs = `SELECT count(*) FROM events WHERE session_id = $1 AND event_id >= $2 AND event_id < $3 AND type = 'output'`
	sqlTrimEvents  = `DELETE FROM events WHERE session_id = $1 AND event_id >= $2 AND event_id < $3 RETURNING run_id`
	sqlTrimRecords = `
DELETE FROM idempotency_records WHERE (scope, operation, idempotency_key) IN (
	SELECT i.scope, i.operation, i.idempotency_key FROM idempotency_records AS i WHERE i.scope = $1
	ORDER BY i.operation, i.idempotency_key LIMIT CAST($2 AS bigint))`
	sqlTrimRuleVersion = `DELETE FROM rule_versions WHERE session_id = $1`
)

// Retention is the implementation of both engines: the part of [upkeep.Keeper] that deletes decided rows,
// [upkeep.Redactor] and [upkeep.Rewrapper].
type Retention struct {
	alone Alone
	nowMs func(context.Context) (int64, error)
	sql   *Statements
	// redaction are the statements of redaction and of rewrapping.
	redaction *RedactStatements
}

// Alone runs do in a transaction that has nothing else in it. The error says what was done. Errors of package
// refusal are returned unchanged.
type Alone func(ctx context.Context, doing string, do func(context.Context, Transaction) error) error

// New returns the retention of a database.
func New(alone Alone, nowMs func(context.Context) (int64, error), retention *Statements, redaction *RedactStatements) *Retention {
	return &Retention{alone, nowMs, retention, redaction}
}

// errKept rolls back the deletion of the keys of a session that is not deleted with them.
var errKept = errors.New("the session is no longer empty")

// TrimSession implements [upkeep.Keeper].
func (r *Retention) TrimSession(ctx context.Context, sessionID string, beforeMs int64, limit int) (trimmed upkeep.Trimmed, err error) {
	nowMs, err := r.nowMs(ctx)
	if err != nil {
		return upkeep.Trimmed{}, err
	}
	err = r.alone(ctx, "trim a session", func(ctx context.Context, tx Transaction) (err error) {
		trimmed, err = trim(ctx, tx, r.sql, sessionID, beforeMs, nowMs, max(limit, 1))
		return err
	})
	if errors.Is(err, errKept) {
		return upkeep.Trimmed{}, nil
	}
	if err != nil {
		return upkeep.Trimmed{}, err
	}
	failpoint.Hit("retain.committed")
	return trimmed, nil
}

// trim deletes up to limit events, oldest first, up to the first one of a run that must stay.
// Then it deletes the runs without events, and then the session if it is empty, which it may have
// been before: somebody touched it after its last run, or it had a child.
func trim(ctx context.Context, tx Transaction, s *Statements, sessionID string, beforeMs, nowMs int64, limit int) (upkeep.Trimmed, error) {
	var trimmed upkeep.Trimmed
	first, there, err := number(ctx, tx, s.TrimLock, sessionID)
	if err != nil || !there {
		return trimmed, err
	}
	failpoint.Hit("retain.locked")
	end, there, err := number(ctx, tx, s.TrimEnd, sessionID, first, beforeMs, nowMs, limit)
	if err != nil || !there {
		return trimmed, err
	}
	if end > first {
		err := trimLog(ctx, tx, s, sessionID, first, end, &trimmed)
		trimmed.More = trimmed.Events >= limit
		if err != nil || trimmed.Runs == 0 {
			return trimmed, err
		}
	}
	_, empty, err := number(ctx, tx, s.TrimEmpty, sessionID, beforeMs, nowMs)
	if err != nil || !empty {
		return trimmed, err
	}
	// A session's keys do not apply to another session with its id. There may be very many.
	keys, err := tx.Write(ctx, sqlTrimRecords, sessionID, limit)
	if err != nil {
		return trimmed, err
	}
	if keys >= int64(limit) {
		trimmed.More = true
		return trimmed, nil
	}
	removed, err := texts(ctx, tx, s.TrimSession, sessionID, beforeMs, nowMs)
	failpoint.Hit("retain.session")
	if err == nil && len(removed) == 0 && keys > 0 {
		return trimmed, errKept // on Postgres a child was committed since
	}
	if err != nil || len(removed) == 0 {
		return trimmed, err
	}
	trimmed.Session = true
	// No rule of the session is in force. The first rule of another session with its id begins at a random version.
	if _, err := tx.Write(ctx, sqlTrimRuleVersion, sessionID); err != nil {
		return trimmed, err
	}
	// Without a line in the audit's own log, another session with the id would look like a forgery.
	if life := removed[0]; life != "" {
		err = addEntry(ctx, tx, journal.New(nowMs, "", api.AuditEvent{Type: api.AuditSessionDeleted, SessionID: sessionID, Life: life}))
	}
	return trimmed, err
}

// trimLog deletes the events from the first kept one to end, and the runs that have none left.
func trimLog(ctx context.Context, tx Transaction, s *Statements, sessionID string, first, end int64, trimmed *upkeep.Trimmed) error {
	outputs, _, err := number(ctx, tx, sqlTrimOutputs, sessionID, first, end)
	if err != nil {
		return err
	}
	about, err := texts(ctx, tx, sqlTrimEvents, sessionID, first, end)
	if err != nil {
		return err
	}
	failpoint.Hit("retain.events")
	trimmed.Events = int(end - first)
	if _, err := tx.Write(ctx, s.TrimFirstKept, sessionID, end, outputs); err != nil {
		return err
	}
	failpoint.Hit("retain.first_kept")
	whole, err := texts(ctx, tx, s.TrimWhole, sessionID, tx.List(about), end)
	if err != nil || len(whole) == 0 {
		return err
	}
	trimmed.Runs = len(whole)
	for _, statement := range s.TrimRuns {
		if _, err := tx.Write(ctx, statement, sessionID, tx.List(whole)); err != nil {
			return err
		}
		failpoint.Hit("retain.rows")
	}
	return nil
}

// addEntry writes a line of the audit's own log.
func addEntry(ctx context.Context, tx Transaction, entry *journal.Entry) error {
	for hold, args := range tokens.HoldCaller(entry) {
		if held, err := tx.Write(ctx, hold, args...); err != nil || held == 0 {
			return cmp.Or(err, auth.Invalid())
		}
	}
	_, err := tx.Write(ctx, tokens.AddEntry, tokens.EntryArgs(entry)...)
	return err
}

// number returns the number that a query has, if it has a row.
func number(ctx context.Context, tx Transaction, sql string, args ...any) (found int64, there bool, err error) {
	err = tx.Ask(ctx, sql, func(rows columns.Rows) error {
		return columns.Each(rows, columns.Itself[int64], func(n *int64) { found, there = *n, true })
	}, args...)
	return found, there, err
}

// texts returns the distinct texts that a query has.
func texts(ctx context.Context, tx Transaction, sql string, args ...any) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	err := tx.Ask(ctx, sql, func(rows columns.Rows) error {
		return columns.Each(rows, columns.Itself[string], func(text *string) {
			if !seen[*text] {
				seen[*text] = true
				found = append(found, *text)
			}
		})
	}, args...)
	return found, err
}
