package api

// RunKind says how a run was created. A resume never changes it.
type RunKind string

// Kinds of runs.
const (
	// KindInput is a run created by a caller's input.
	KindInput RunKind = "input"
	// KindCall is one call of an agent that waits for a person. It does not join the session's
	// queue and takes no slot, so several calls of one session can be open at the same time.
	KindCall RunKind = "call"
	// KindParentClarification is a question of a child's run. It waits from the start, is never
	// claimed, and takes no slot in its session.
	KindParentClarification RunKind = "parent_clarification"
)

// Status is the status of a run.
type Status string

// Statuses of a run. The last four are terminal.
const (
	StatusQueued                 Status = "queued"
	StatusRunning                Status = "running"
	StatusWaitingForApproval     Status = "waiting_for_approval"
	StatusWaitingForUserQuestion Status = "waiting_for_user_question"
	StatusCompleted              Status = "completed"
	StatusFailed                 Status = "failed"
	StatusInterrupted            Status = "interrupted"
	StatusCancelled              Status = "cancelled"
)

// Statuses lists every status, in the order of a run's life.
var Statuses = []Status{
	StatusQueued, StatusRunning, StatusWaitingForApproval, StatusWaitingForUserQuestion,
	StatusCompleted, StatusFailed, StatusInterrupted, StatusCancelled,
}

// Terminal reports whether the status is final.
func (s Status) Terminal() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusInterrupted || s == StatusCancelled
}

// Waiting reports whether a run with this status waits for a decision.
func (s Status) Waiting() bool {
	return s == StatusWaitingForApproval || s == StatusWaitingForUserQuestion
}

// Errors of runs that the service has cancelled because the worker or agent that asked is gone (docs/spec/v1.md#abandoned-requests).
const (
	ErrorWorkerGone = "the worker that asked is gone"
	ErrorAgentGone  = "the agent that asked is gone" // of a run of KindCall
)

// Statuses of a session without an active run.
const (
	SessionIdle  Status = "idle"
	SessionEnded Status = "ended"
)
