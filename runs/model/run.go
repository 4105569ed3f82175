package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// LeaseEnd says how the newest lease ended. It is empty for a current lease and for a lapsed
// one, which still counts until another worker claims the run (docs/spec/v1.md#lease-and-fence).
type LeaseEnd string

// The ways in which a call ends a lease.
const (
	LeaseReleased  LeaseEnd = "released"
	LeaseSuspended LeaseEnd = "suspended"
	LeaseCompleted LeaseEnd = "completed"
	LeaseFailed    LeaseEnd = "failed"
	// LeaseRevoked: the run was cancelled, interrupted or failed by someone other than its
	// holder.
	LeaseRevoked LeaseEnd = "revoked"
)

// TakesSlot reports whether runs of this kind queue for their session's slot. Other kinds wait
// from the start, outside of the queue.
func TakesSlot(kind api.RunKind) bool { return kind == api.KindInput }

// Run is a stored run.
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
	// Principal created the run; empty if the service did.
	Principal string
	// PayloadDigest is the digest of the call that created the run. It distinguishes a retry
	// from another call with the same run id.
	PayloadDigest string

	SubmittedAtMs int64
	StartedAtMs   int64 // 0 before the first claim
	FinishedAtMs  int64 // 0 until it is terminal
	UpdatedAtMs   int64

	// FirstEventID and LastEventID bound the run's events in its session's log. Queued runs
	// start in the order of FirstEventID.
	FirstEventID int64
	LastEventID  int64
	// QueuedAhead is how many queued runs of the session start first. It is computed on read,
	// not stored.
	QueuedAhead int64

	// Attempt counts the claims since the last suspension; a released claim does not count.
	Attempt int64
	// StalledAttempts counts the claims since the last progress: a suspension, a checkpoint or
	// an event of the worker (docs/spec/v1.md#attempts).
	StalledAttempts int64
	// FailedAttempts counts the attempts that a worker released because its handler failed,
	// since the last suspension without a lease. LastError is the error of the newest one, or of
	// the failure that an operator retried; empty without one.
	FailedAttempts int64
	LastError      string
	// Retries counts how often an operator retried the failed run.
	Retries int64
	// Fence is the number of the newest claim; 0 before the first.
	Fence    int64
	WorkerID string // of the newest claim
	// HolderPrincipal made the newest claim; empty if the service did.
	HolderPrincipal  string
	LeaseExpiresAtMs int64 // 0 when no lease is held; in the past when it lapsed
	LeaseEnd         LeaseEnd
	// LastCallDigest identifies the call that ended the lease. Repeating that call is a no-op.
	LastCallDigest string
	// Attached says that the holder keeps its lease while the run waits
	// (docs/spec/v1.md#attached-waiting).
	Attached bool
	// ClaimableAtMs is the time from which the run can be claimed; for a leased run, the end of
	// the lease. 0 means never: the run waits, is not at the head of the queue, or is terminal.
	ClaimableAtMs int64

	// SuspensionID is the newest suspension; empty before the first.
	SuspensionID string
	// RaisedCount counts the raised requests, and numbers them.
	RaisedCount int64
	// SettledCount counts the settled requests, and numbers the resolutions.
	SettledCount int64
	// ResumeAfter is a watermark: the next claim's Resume has the resolutions with a higher
	// SettledNumber.
	ResumeAfter int64

	// DataKey encrypts the sensitive values of the run's requests. It is encrypted itself, and
	// is deleted when the run ends: the values are then unreadable. Empty without sensitive
	// values.
	DataKey string
	// SecretsErased says that the run ended and its DataKey was deleted, or that a redaction emptied one of its
	// decisions. Such a run is not retried.
	SecretsErased bool

	// OutputCount counts the output records among its events.
	OutputCount int64
	Error       string   // why it failed or was cancelled
	Output      api.JSON // of a completed run; nil when it gave none

	// Input and Checkpoint may be large, and are nil unless Needs.Payload asked for them.
	// Checkpoint is written only if CheckpointSet is true; Input only with a new run.
	Input         api.JSON
	Checkpoint    api.JSON
	CheckpointSet bool
}

// Leased reports whether the lease is current at nowMs. It is false for a lapsed one.
func (r *Run) Leased(nowMs int64) bool {
	return r.LeaseExpiresAtMs > nowMs
}
