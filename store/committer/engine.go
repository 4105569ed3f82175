package committer

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Engine is what the committer needs of a database.
type Engine interface {
	// SessionOf returns the session of a run, or "" when there is no such run. A run
	// never changes its session, so the answer may be remembered.
	SessionOf(ctx context.Context, runID string) (string, error)
	// Begin opens a transaction, locks the sessions of the loads in the order given
	// (which is the order of their ids, in every replica), and loads their states
	// after the locks are held. A session that is not there has no row to lock; two
	// transactions that both make it meet at its primary key.
	Begin(ctx context.Context, loads []Load) (Batch, error)
}

// Batch is one open transaction.
type Batch interface {
	// NowMs is the moment of the decisions, read from the clock that decides after
	// the locks were taken.
	NowMs() int64
	// State returns the state of one of the sessions that were asked for.
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

// Load is what the commands of one batch need of one session, put together.
// For the meaning of the members see runs.Needs.
type Load struct {
	SessionID string
	// Commands is how many commands of the batch are on this session. Each of them
	// may take a run off the head of the queue, so Commands+1 queued runs are loaded.
	Commands          int
	RunIDs            []string
	ChosenRunIDs      []string
	Requests          []runs.RequestKey
	Suspensions       []SuspensionKey
	SessionRequestIDs []string
	UnfinishedRuns    bool
	Clarifications    bool
	MessageIDs        []string
	// MessageRunIDs are the runs whose unacknowledged messages are loaded.
	MessageRunIDs []string
	Mailbox       bool
	DeadLetters   bool
	EffectIDs     []string
	// For the next five see runs.Needs.
	Rules         bool
	RuleDigests   []string
	RuleIDs       []string
	SessionRules  bool
	ChangesRules  bool
	PayloadRunIDs []string
	Records       []model.RecordKey
}

// SuspensionKey names a suspension of a run.
type SuspensionKey struct {
	RunID        string
	SuspensionID string
}
