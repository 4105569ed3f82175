package committer

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/runs"
)

// Engine is what the committer needs of a database.
type Engine interface {
	// SessionOf returns the session of a run, or "" when there is no such run. A run
	// never changes its session, so the answer may be remembered.
	SessionOf(ctx context.Context, runID string) (string, error)
	// Begin opens a transaction, locks those sessions of the loads that nobody else has
	// locked, without waiting for the others, and loads their states after the locks are
	// held. A session that is not there has no row to lock; two transactions that both
	// make it meet at its primary key.
	Begin(ctx context.Context, loads []Load) (Batch, error)
	// AwaitRuleReaders returns once every transaction is over that has loaded rules (see
	// runs.Needs.Rules) and began before the call. Other transactions do not wait for it.
	AwaitRuleReaders(ctx context.Context) error
}

// Parted is an Engine in which transactions wait for each other. It writes what a large command appends
// in parts, with the transactions of others in between.
type Parted interface {
	// BeginParted loads as Begin does, and holds nothing that others wait for. Until the batch is
	// over, the caller writes none of its sessions otherwise. Nothing that Commit writes is there for
	// anybody before its last transaction, which is refused when what was loaded, the state of tokens included, is not what the
	// database has then. Rules are not compared.
	BeginParted(ctx context.Context, loads []Load) (Batch, error)
}

// Batch is one open transaction.
type Batch interface {
	// NowMs is the moment of the decisions, read from the clock that decides after
	// the locks were taken.
	NowMs() int64
	// Incarnation tells one start of one database server from all others, on which what was
	// acknowledged here may be missing. It is 0 on an engine for which there is but one.
	Incarnation() int64
	// State returns the state of one of the sessions that were asked for, nil when another
	// transaction has it locked: nothing may be decided about it.
	State(sessionID string) *runs.State
	// Commit writes and commits. The error wraps ErrRefused when the database
	// certainly did not commit; any other error leaves that open.
	Commit(ctx context.Context, writes runs.Writes) error
	// Rollback ends the transaction without effect. It is harmless after Commit.
	Rollback(ctx context.Context)
}

// ErrRefused marks a transaction that the database certainly did not commit:
// a constraint, a serialization failure, a deadlock. The commands in it may be
// tried again, one by one.
var ErrRefused = errors.New("database refused the transaction")

// Load is what the commands of one batch need of one session.
type Load struct {
	SessionID string
	// Needs are those of each command, in their order. Ids in them that no row can have
	// are empty, and the scope of a record is never empty.
	Needs []runs.Needs
}
