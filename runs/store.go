package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// Door is the only way to change rows.
type Door interface {
	// Do prepares the command, decides it under its session's lock, and returns after the commit. It
	// returns the command's errors, an error that wraps ErrClosed or ErrUnavailable, or the
	// context's error. After ErrUnavailable or a context error the command may have taken effect:
	// repeat it with the same key or id to be sure.
	Do(ctx context.Context, command Command) (Reply, error)
}

// Service is a store for the handlers of calls. It checks each command against the permissions of
// the context's caller.
type Service interface {
	Door
	Instance
	// Reader returns the reads in the scope of the context's caller.
	Reader(ctx context.Context) reads.Reader
}

// Instance is the clock, the state and the notices of an open store.
type Instance interface {
	// NowMs returns the current time of the clock that decides: the database's on Postgres,
	// the process's on SQLite.
	NowMs(ctx context.Context) (int64, error)
	// Ready returns nil when the database answers and has this program's schema or a newer one.
	// Otherwise the error says what is wrong.
	Ready(ctx context.Context) error
	// Subscribe calls the function with the notice of each commit of this process, and with notices
	// of other replicas if the engine receives them. The function is called on the commit path and
	// must not block. It may be called once more while unsubscribe runs.
	Subscribe(func(reads.Notice)) (unsubscribe func())
}

// Store is the complete interface of an engine.
type Store interface {
	Door
	reads.Reader
	// Within returns the reads in a scope. The store itself reads everything.
	Within(scope reads.Scope) reads.Reader
	Instance
	reads.Worklist
	reads.Presence
	reads.Messages
	upkeep.Keeper
	reads.Gauge
}

// ValueReader is the part of a [reads.Reader] that CheckValues uses.
type ValueReader interface {
	// Run returns a run with its open requests. Errors: run_not_found.
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	// PendingRequests returns open requests of one kind; see [reads.Reader].
	PendingRequests(ctx context.Context, q reads.RequestQuery) ([]model.PendingRequest, error)
	// SessionHead returns the row of a session. Errors: session_not_found.
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)
}

// Errors of a store that are not caused by the call.
var (
	// ErrClosed says that the store is shutting down and did nothing.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable says that the database refused or could not be reached. A command may or
	// may not have taken effect.
	ErrUnavailable = errors.New("database is unavailable")
)

// cannotSeal wraps the error of a call that needs an unconfigured key. It returns a refusal and nil
// unchanged.
func cannotSeal(err error) error {
	if err == nil || refusal.CodeOf(err) != "" {
		return err
	}
	return &NotReadyError{Detail: sealedElsewhere, Err: fmt.Errorf("%w: %w", ErrUnavailable, err)}
}

const sealedElsewhere = "this replica cannot read or write the run's sensitive values, for example because it has other secret keys than the others; its log says why"

// NotReadyError says why a store, or this process with it, cannot work. It wraps the cause.
type NotReadyError struct {
	// Detail is shown to callers: it names no path, address or user.
	Detail string
	Err    error
}

func (e *NotReadyError) Error() string {
	if e.Err == nil || strings.Contains(e.Detail, e.Err.Error()) {
		return e.Detail
	}
	return e.Detail + ": " + e.Err.Error()
}

func (e *NotReadyError) Unwrap() error { return e.Err }
