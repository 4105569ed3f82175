package runs

// Status is where a run stands (design.md §2).
type Status string

// The statuses of a run. The last four are terminal: nothing leaves them.
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

// legalMoves is the one table of the state machine. The two moves between the
// waiting statuses happen only when a run waits for both kinds: questions are
// shown first.
var legalMoves = map[Status][]Status{
	StatusQueued:                 {StatusRunning, StatusFailed, StatusCancelled},
	StatusRunning:                {StatusWaitingForApproval, StatusWaitingForUserQuestion, StatusCompleted, StatusFailed, StatusInterrupted, StatusCancelled},
	StatusWaitingForApproval:     {StatusRunning, StatusWaitingForUserQuestion, StatusFailed, StatusInterrupted, StatusCancelled},
	StatusWaitingForUserQuestion: {StatusRunning, StatusWaitingForApproval, StatusFailed, StatusInterrupted, StatusCancelled},
}

// Terminal reports whether a run in this status is over.
func Terminal(s Status) bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusInterrupted || s == StatusCancelled
}

// Waiting reports whether a run in this status waits for a person.
func Waiting(s Status) bool {
	return s == StatusWaitingForApproval || s == StatusWaitingForUserQuestion
}

// Known reports whether the text is the name of a status.
func KnownStatus(s Status) bool {
	for _, known := range Statuses {
		if s == known {
			return true
		}
	}
	return false
}

// CanMove reports whether a run of that kind may go from one status to the other.
// Staying is not a move. A parent clarification waits for its one question and
// completes with the answer; it never runs.
func CanMove(kind RunKind, from, to Status) bool {
	if kind == KindParentClarification {
		return from == StatusWaitingForUserQuestion && to == StatusCompleted
	}
	for _, next := range legalMoves[from] {
		if next == to {
			return true
		}
	}
	return false
}
