package door

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// Engine is the database as the door uses it.
type Engine interface {
	// SessionOf returns the session of a run, or "" if there is no such run. A run never changes
	// its session, so the answer may be cached.
	SessionOf(ctx context.Context, runID string) (string, error)
	// Begin opens a transaction and locks the sessions of the loads. It skips sessions that are
	// locked already, without waiting. It loads the states after it holds the locks. A session that
	// does not exist has no row to lock: if two transactions create it, its primary key decides.
	Begin(ctx context.Context, loads []Load) (Batch, error)
	// Commit writes what was decided from cached facts, in one transaction, and returns its time. If
	// the ReadSet does not hold, it writes nothing and the error wraps facts.ErrStale. Other errors are
	// as in Batch.Commit.
	Commit(ctx context.Context, used facts.ReadSet, writes runs.Writes) (nowMs int64, err error)
	// AwaitRuleReaders waits for all transactions that loaded rules (see runs.Needs.Rules) and
	// began before the call. It does not wait for other transactions.
	AwaitRuleReaders(ctx context.Context) error
}

// Batch is one open transaction.
type Batch interface {
	// NowMs is the time of the decisions, read from the deciding clock once the locks are held.
	NowMs() int64
	// Incarnation identifies one start of one database server. A different one may lack commits
	// that were acknowledged. It is 0 for an engine that has only one.
	Incarnation() int64
	// State returns the state of a loaded session. It is nil if another transaction has locked the
	// session, which must not be decided then.
	State(sessionID string) *runs.State
	// Commit writes and commits. If the error wraps ErrRefused, the database did not commit. With
	// any other error the outcome is unknown.
	Commit(ctx context.Context, writes runs.Writes) error
	// Rollback ends the transaction without effect. It does nothing after Commit.
	Rollback(ctx context.Context)
}

// Errors of an Engine.
var (
	// ErrRefused means that the database did not commit the transaction, because of a constraint, a
	// serialization failure or a deadlock. Its commands may be retried one by one.
	ErrRefused = lanes.ErrRefused
	// ErrLocked wraps ErrRefused: the database gave up waiting for a lock and ended the transaction.
	// It happens only for sessions that did not exist yet and could not be locked beforehand, and for
	// rows that someone changes without the service.
	ErrLocked = lanes.ErrLocked
)

// Errors of commands that had no effect. They are wrapped together with runs.ErrUnavailable.
var (
	// ErrSessionLocked means that the session stayed locked by another transaction for
	// Options.LockWait.
	ErrSessionLocked = lanes.ErrKeyLocked
	// ErrSessionFailing means that the command waited Options.LockWait behind commands of its session
	// that the database refused.
	ErrSessionFailing = lanes.ErrKeyFailing
)

// Load lists the needs of a batch for one session.
type Load struct {
	SessionID string
	// Needs has one entry for each command, in order. Ids that cannot exist are empty, and the
	// scope of a record is never empty.
	Needs []runs.Needs
}

// Clocked is an Engine that decides by the clock of this process, which is free to read.
type Clocked interface{ NowMs() int64 }
