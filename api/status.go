package api

// RunKind says what made a run. A resume never rewrites it.
type RunKind string

// The kinds of runs.
const (
	// KindInput is a run made by a caller's input.
	KindInput RunKind = "input"
	// KindCall is one call of an agent that waits for a person. It waits from the start next to
	// its session's queue and takes no slot, so calls of one session are open at the same time.
	KindCall RunKind = "call"
	// KindParentClarification is a question of a child's run. It waits from the start, is
	// never claimed, and takes no slot of its session.
	KindParentClarification RunKind = "parent_clarification"
)

// Status is where a run stands.
type Status string

// The statuses of a run. The last four are terminal.
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

// Statuses that a session has besides those of its active run.
const (
	SessionIdle  Status = "idle"
	SessionEnded Status = "ended"
)
