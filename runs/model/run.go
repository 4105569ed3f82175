package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// LeaseEnd says how the lease of a run's current fence came to its end. An empty
// LeaseEnd with a fence above 0 means that the lease lives or has lapsed; a lapsed
// one still works until somebody else claims the run (decisions.md 33).
type LeaseEnd string

// The ways in which a lease ends by an act and not by time.
const (
	LeaseReleased  LeaseEnd = "released"
	LeaseSuspended LeaseEnd = "suspended"
	LeaseCompleted LeaseEnd = "completed"
	LeaseFailed    LeaseEnd = "failed"
	// LeaseRevoked: the run was cancelled, interrupted or failed by others.
	LeaseRevoked LeaseEnd = "revoked"
)

// Run is one execution, as its row holds it.
type Run struct {
	RunID       string
	SessionID   string
	AgentID     string
	ParentRunID string // empty when it has none
	Kind        api.RunKind
	Status      api.Status
	Request     api.RunRequestSummary
	Metadata    api.JSON // an object, or nil
	// Requester is the Requester document of a parent clarification, nil otherwise.
	Requester api.JSON
	// PayloadDigest is the digest of what the run was created with, by which the
	// same call is told from another one that uses the same run id.
	PayloadDigest string

	SubmittedAtMs int64
	StartedAtMs   int64 // 0 before its first claim
	FinishedAtMs  int64 // 0 until it is over
	UpdatedAtMs   int64

	// FirstEventID and LastEventID bound the run's events in its session's log.
	// Queued runs go in the order of FirstEventID.
	FirstEventID int64
	LastEventID  int64
	// QueuedAhead is how many queued runs of the session go before this one. It is
	// counted when the row is read and stands in no column.
	QueuedAhead int64

	// Attempt counts the claims since the last suspension, a released one not.
	Attempt int64
	// StalledAttempts counts the claims since the run last made progress: a
	// suspension, a checkpoint or an event of its worker.
	StalledAttempts int64
	// Fence is the number of the newest claim; 0 before the first.
	Fence            int64
	WorkerID         string // of the newest claim
	LeaseExpiresAtMs int64  // 0 when no lease is held
	LeaseEnd         LeaseEnd
	// LastCallDigest identifies the call that ended the lease, so that the very
	// same call again is a no-op.
	LastCallDigest string
	// Attached says that the holder of the lease waits in place (hold).
	Attached bool
	// ClaimableAtMs is when the run may be claimed: at once, when its lease lapses,
	// or never (0) while it waits, is behind others in the queue, or is over.
	ClaimableAtMs int64

	// SuspensionID names the newest suspension; empty before the first.
	SuspensionID string
	// RaisedCount is how many requests it has raised, which numbers them.
	RaisedCount int64
	// SettledCount is how many of its requests have been settled, which also
	// numbers them in the order of the decisions.
	SettledCount int64
	// ResumeAfter is the settled number after which resolutions belong to the
	// Resume that the next claim is handed.
	ResumeAfter int64

	// OutputCount is how many output records its events hold.
	OutputCount int64
	Error       string   // why it failed or was cancelled
	Output      api.JSON // of a completed run; nil when it gave none

	// Input and Checkpoint may be large. They are loaded only for commands that
	// need them (Needs.Payload) and are written only when PayloadSet and
	// CheckpointSet say so.
	Input         api.JSON
	Checkpoint    api.JSON
	CheckpointSet bool
}

// Leased reports whether somebody holds the run's lease at that moment.
func (r *Run) Leased(nowMs int64) bool {
	return r.LeaseExpiresAtMs > nowMs
}
