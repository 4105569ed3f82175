package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
)

// legalMoves is the state machine (docs/spec/v1.md#run-status). The two moves between waiting
// statuses happen only when a run waits for both kinds, because questions are shown first. A
// failed run continues only when an operator retries it.
var legalMoves = map[api.Status][]api.Status{
	api.StatusQueued:                 {api.StatusRunning, api.StatusFailed, api.StatusCancelled},
	api.StatusRunning:                {api.StatusWaitingForApproval, api.StatusWaitingForUserQuestion, api.StatusCompleted, api.StatusFailed, api.StatusInterrupted, api.StatusCancelled},
	api.StatusWaitingForApproval:     {api.StatusRunning, api.StatusWaitingForUserQuestion, api.StatusFailed, api.StatusInterrupted, api.StatusCancelled},
	api.StatusFailed:                 {api.StatusRunning},
	api.StatusWaitingForUserQuestion: {api.StatusRunning, api.StatusWaitingForApproval, api.StatusFailed, api.StatusInterrupted, api.StatusCancelled},
}

// CanMove reports whether a run of that kind may move from one status to the other. Staying in a
// status is not a move. A parent clarification never runs: it waits, and completes with its answer.
func CanMove(kind api.RunKind, from, to api.Status) bool {
	if kind == api.KindParentClarification {
		return from == api.StatusWaitingForUserQuestion && to == api.StatusCompleted
	}
	return slices.Contains(legalMoves[from], to)
}
