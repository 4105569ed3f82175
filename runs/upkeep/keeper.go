package upkeep

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Keeper maintains a store. It decides nothing.
type Keeper interface {
	// SweepIdempotency deletes up to limit idempotency records older than beforeMs, and returns how
	// many it deleted. It keeps the records of names, which are deleted with their run.
	SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error)
	// SweepRules deletes up to limit rules that were revoked or expired before beforeMs, or are used up
	// and were created before it, and settled no kept request. It returns how many it deleted.
	SweepRules(ctx context.Context, beforeMs int64, limit int) (int, error)
	// FinishedRuns returns runs that finished before beforeMs, after a position, in the order of
	// (finished_at_ms, run_id).
	FinishedRuns(ctx context.Context, beforeMs int64, after FinishedRun, limit int) ([]FinishedRun, error)
	// TrimSession deletes the oldest events of a session's log, at most limit, up to the first event
	// of a run that must stay. It also deletes runs without events left, with all their rows. A run
	// stays if it finished after beforeMs, and while something needs it (docs/retention.md). An empty
	// session is deleted too, after its idempotency records, of which a call deletes at most limit. TrimSession skips a session that does not exist or that is locked.
	TrimSession(ctx context.Context, sessionID string, beforeMs int64, limit int) (Trimmed, error)
	// WedgedSessions checks up to limit sessions after one, in the order of their ids. It returns those
	// whose active run is finished, with that run. next is the last checked session, "" at the end of
	// the list. Only a defect or a manual change of the database causes this, and the session is stuck.
	WedgedSessions(ctx context.Context, after string, limit int) (wedged []reads.DueRun, next string, err error)
	// Close finishes calls in flight and closes the database. Do returns ErrClosed from then on.
	Close() error
}

// FinishedRun is a finished run. Its time and id are a list position; the zero value is before the
// first.
type FinishedRun struct {
	FinishedAtMs int64
	RunID        string
	SessionID    string
}

// Trimmed counts the deleted events and runs of a session, and says whether the session was deleted.
type Trimmed struct {
	Events, Runs int
	Session      bool
	// More says that the limit was reached.
	More bool
}

// Redactor removes bodies of events. Every engine implements it.
type Redactor interface {
	// RedactEvents removes the bodies of events of finished runs, all or none. It also removes the
	// requests, resolutions and outputs that the events report. The digests stay. It returns how many
	// of the events have no body now. That includes bodies removed before, so a repeated call has the
	// same answer. Errors: session_not_found; invalid_request for an event that the session does not
	// have; event_needed when an event's run is not finished, or its deliveries are pending; an error
	// that wraps ErrUnavailable or ErrClosed.
	RedactEvents(ctx context.Context, r *Redaction) (int, error)
}

// Redaction names the events of a session whose bodies are removed.
type Redaction struct {
	SessionID string
	EventIDs  []int64
	// Entry returns the audit log's entry about it. It is not called if no event had a body left.
	Entry func() *journal.Entry
}

// Rewrapper re-encrypts the data keys of callbacks. Every engine implements it.
type Rewrapper interface {
	// SealedRequests returns at most limit requests after a position, in the order of (session_id,
	// run_id, request_id), with the sealed values of those that have a callback.
	SealedRequests(ctx context.Context, after SealedRequest, limit int) ([]SealedRequest, error)
	// OwedCallbacks returns requests with a callback that is still to be posted, in any order: at most limit settled
	// ones with a pending callback, and at most limit open ones, of which it looks at 10,000.
	OwedCallbacks(ctx context.Context, limit int) ([]SealedRequest, error)
	// RewrapRequest replaces a request's sealed values with re-encrypted ones. It does nothing and
	// returns false if the values have changed since they were read. Errors: one that wraps
	// ErrUnavailable or ErrClosed.
	RewrapRequest(ctx context.Context, read SealedRequest, rewrapped api.JSON) (bool, error)
}

// SealedRequest is a request with its encrypted values.
type SealedRequest struct {
	SessionID, RunID, RequestID string
	// Sealed is a [model.SealedValues] with a callback, or nil.
	Sealed api.JSON
}

// Disk is implemented by an engine that can measure its database's disk.
type Disk interface {
	// FreeBytes returns the number of free bytes, math.MaxInt64 if unknown.
	FreeBytes() int64
}
