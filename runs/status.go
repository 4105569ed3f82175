package runs

import "github.com/holdpoint/holdpoint/api"

// legalMoves is the one table of the state machine. The two moves between the
// waiting statuses happen only when a run waits for both kinds: questions are
// shown first.
var legalMoves = map[api.Status][]api.Status{
	api.StatusQueued:                 {api.StatusRunning, api.StatusFailed, api.StatusCancelled},
	api.StatusRunning:                {api.StatusWaitingForApproval, api.StatusWaitingForUserQuestion, api.StatusCompleted, api.StatusFailed, api.StatusInterrupted, api.StatusCancelled},
	api.StatusWaitingForApproval:     {api.StatusRunning, api.StatusWaitingForUserQuestion, api.StatusFailed, api.StatusInterrupted, api.StatusCancelled},
	api.StatusWaitingForUserQuestion: {api.StatusRunning, api.StatusWaitingForApproval, api.StatusFailed, api.StatusInterrupted, api.StatusCancelled},
}

// CanMove reports whether a run of that kind may go from one status to the other.
// Staying is not a move. A parent clarification waits for its one question and
// completes with the answer; it never runs.
func CanMove(kind api.RunKind, from, to api.Status) bool {
	if kind == api.KindParentClarification {
		return from == api.StatusWaitingForUserQuestion && to == api.StatusCompleted
	}
	for _, next := range legalMoves[from] {
		if next == to {
			return true
		}
	}
	return false
}
