package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// LeaseEnd says how the lease of the newest fence ended. It is empty while the lease is
// current, and when it lapsed: a lapsed lease still counts until another worker claims the run
// (docs/spec/v1.md#lease-and-fence).
type LeaseEnd string

// The ways in which a lease ends by a call and not by time.
const (
	LeaseReleased  LeaseEnd = "released"
	LeaseSuspended LeaseEnd = "suspended"
	LeaseCompleted LeaseEnd = "completed"
	LeaseFailed    LeaseEnd = "failed"
	// LeaseRevoked: the run was cancelled, interrupted or failed, not by its holder.
	LeaseRevoked LeaseEnd = "revoked"
)

// TakesSlot reports whether runs of a kind queue for their session's slot. The others wait from
// the start, next to the queue.
func TakesSlot(kind api.RunKind) bool { return kind == api.KindInput }

// Run is one execution, as it is stored.
type Run struct {
	RunID       string
	SessionID   string
	AgentID     string
	ParentRunID string // empty when it has none
	Kind        api.RunKind
	Status      api.Status
	Request     api.RunRequestSummary
	Metadata    api.JSON // an object, or nil
	// Requester is an api.Requester; nil unless the run is a parent clarification.
	Requester api.JSON
	// Principal is whose credential the run was made with; empty when the service made it.
	Principal string
	// PayloadDigest is the digest of the call that created the run. It tells a repetition of
	// that call from another one with the same run id.
	PayloadDigest string

	SubmittedAtMs int64
	StartedAtMs   int64 // 0 before the first claim
	FinishedAtMs  int64 // 0 until it is terminal
	UpdatedAtMs   int64

	// FirstEventID and LastEventID bound the run's events in its session's log. Queued runs
	// start in the order of FirstEventID.
	FirstEventID int64
	LastEventID  int64
	// QueuedAhead is how many queued runs of the session start before this one. It is computed
	// when the row is read and is no column.
	QueuedAhead int64

	// Attempt counts the claims since the last suspension; a released claim does not count.
	Attempt int64
	// StalledAttempts counts the claims since the last progress: a suspension, a checkpoint or
	// an event of the worker (docs/spec/v1.md#attempts).
	StalledAttempts int64
	// FailedAttempts counts the attempts that a worker released because its handler failed, since the
	// last suspension without a lease. LastError is the error of the newest one, or of the failure
	// that an operator retried; empty for none.
	FailedAttempts int64
	LastError      string
	// Retries counts how often an operator retried the run after it had failed.
	Retries int64
	// Fence is the number of the newest claim; 0 before the first.
	Fence    int64
	WorkerID string // of the newest claim
	// HolderPrincipal is whose credential the newest claim was made with; empty when the service made it.
	HolderPrincipal  string
	LeaseExpiresAtMs int64 // 0 when no lease is held; in the past when it lapsed
	LeaseEnd         LeaseEnd
	// LastCallDigest identifies the call that ended the lease, so that the very same call is a
	// no-op when it is repeated.
	LastCallDigest string
	// Attached says that the holder keeps its lease while the run waits
	// (docs/spec/v1.md#attached-waiting).
	Attached bool
	// ClaimableAtMs is the moment from which the run may be claimed; for a leased run that is
	// the end of the lease. 0 means never: the run waits, is not the head of the queue, or is
	// terminal.
	ClaimableAtMs int64

	// SuspensionID is the newest suspension; empty before the first.
	SuspensionID string
	// RaisedCount is how many requests were raised. It numbers them.
	RaisedCount int64
	// SettledCount is how many requests were settled. It numbers the resolutions.
	SettledCount int64
	// ResumeAfter is a watermark: the Resume of the next claim has the resolutions with a
	// higher SettledNumber.
	ResumeAfter int64

	// DataKey encrypts the sensitive values of the run's requests. It is itself encrypted, and is
	// deleted when the run is over: then nobody can read them again. Empty without any.
	DataKey string
	// SecretsErased: the run is over, and had a DataKey.
	SecretsErased bool

	// OutputCount is how many output records are among its events.
	OutputCount int64
	Error       string   // why it failed or was cancelled
	Output      api.JSON // of a completed run; nil when it gave none

	// Input and Checkpoint may be large. They are nil unless Needs.Payload asked for them.
	// Checkpoint is written only when CheckpointSet is true; Input is written with the new run
	// and never again.
	Input         api.JSON
	Checkpoint    api.JSON
	CheckpointSet bool
}

// Leased reports whether a lease is current at nowMs. It is false for a lapsed one.
func (r *Run) Leased(nowMs int64) bool {
	return r.LeaseExpiresAtMs > nowMs
}
