package upkeep

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/api"
)

// Intake holds the runs that programs asked for in database transactions of their own. It decides
// nothing: a loop sends each through the door and then deletes its row. Every method may also
// return an error that wraps ErrUnavailable or ErrClosed, and the context's error.
type Intake interface {
	// Statement returns a statement, with its arguments, that records a run in the caller's
	// transaction.
	Statement(row IntakeRow, body api.JSON) (sql string, args []any)
	// Take leases up to limit due rows to the caller for leaseMs, the oldest first. No other caller
	// gets them before that.
	Take(ctx context.Context, limit int, leaseMs int64) ([]IntakeRow, error)
	// Body returns the body of a row; nil if the row was deleted.
	Body(ctx context.Context, intakeID string) (api.JSON, error)
	// Finish deletes rows whose runs exist.
	Finish(ctx context.Context, intakeIDs []string) error
	// Postpone counts a failed attempt of a row, with the reason, and makes it due after delayMs.
	Postpone(ctx context.Context, intakeID, reason string, delayMs int64) error
	// Refuse counts a failed attempt, with the reason, and marks the row as failed for good.
	Refuse(ctx context.Context, intakeID, reason string) error
	// Refused returns up to limit failed rows after the given intake id, in the order of their ids.
	Refused(ctx context.Context, after string, limit int) ([]IntakeRow, error)
	// RetryRefused makes a failed row due again, and DropRefused deletes it. Both return false if
	// no row with this id has failed.
	RetryRefused(ctx context.Context, intakeID string) (bool, error)
	DropRefused(ctx context.Context, intakeID string) (bool, error)
}

// ErrNotNow is wrapped by the error of a run that may be created later, for example because its
// session's queue is full.
var ErrNotNow = errors.New("not now")

// IntakeRow is one run of an [Intake].
type IntakeRow struct {
	IntakeID string
	RunID    string
	// SessionID is "" if the service makes the session.
	SessionID   string
	CreatedAtMs int64
	// Attempts counts the attempts that failed.
	Attempts int64
	// LastError says why the last attempt failed.
	LastError string
}
