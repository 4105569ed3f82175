package doctor

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// history follows a run's status through its events. It reads no requests, so it does not
// distinguish the two waiting statuses if both kinds were open. [WaitingStatusWrong] checks the
// current one.
type history struct {
	status      api.Status // "" before the first event
	lastType    api.EventType
	first, last int64
	outputs     int64
	// ended: an event ended the run. illegal: an event could not follow its predecessors; the
	// status is unknown from there on.
	ended, illegal bool
	// move is the newest event's step.
	move move
}

// move is a step of a run's status.
type move struct {
	from api.Status
	// end is the run's final status after the event, "" if it continues.
	end               api.Status
	afterEnd, illegal bool
}

// advance applies the next event of a run of that kind. After an illegal move it only counts.
func (h *history) advance(kind api.RunKind, event *model.Event) {
	lastType := h.lastType
	if h.first == 0 {
		h.first = event.EventID
	}
	h.last = event.EventID
	if event.Type == api.EventRequestNotified || event.Type == api.EventNotificationFailed || event.Type == api.EventRequestAcknowledged {
		// They may stand anywhere in a run that is not over, and move nothing.
		h.move = move{from: h.status, afterEnd: model.Terminal(h.status), illegal: h.status == ""}
		return
	}
	h.lastType = event.Type
	if event.Type == api.EventOutput {
		h.outputs++
	}
	h.move = move{from: h.status, end: terminalStatuses[event.Type]}
	h.ended = h.ended || h.move.end != ""
	switch {
	case h.illegal:
	case event.Type == api.EventRunRetried && h.status == api.StatusFailed:
		h.status = api.StatusRunning
	case model.Terminal(h.status):
		h.move.afterEnd, h.illegal = true, true
	default:
		next, legal := follow(h.status, lastType, event.Type, h.move.end)
		if kind == api.KindParentClarification {
			next, legal = followClarification(h.status, lastType, event.Type)
		}
		if legal {
			h.status = next
		}
		h.move.illegal, h.illegal = !legal, !legal
	}
}

// follow returns the status of a run after an event, and whether the event is legal there.
func follow(status api.Status, lastType, event api.EventType, end api.Status) (api.Status, bool) {
	switch event {
	case api.EventAccepted:
		return api.StatusQueued, status == ""
	case api.EventQueued:
		return status, lastType == api.EventAccepted
	case api.EventStarted:
		return api.StatusRunning, runs.CanMove(api.KindInput, status, api.StatusRunning)
	case api.EventWaitingForApproval:
		if model.Waiting(status) {
			return status, true // an attached worker asks another request
		}
		return api.StatusWaitingForApproval, runs.CanMove(api.KindInput, status, api.StatusWaitingForApproval)
	case api.EventWaitingForUserQuestion:
		return api.StatusWaitingForUserQuestion,
			status == api.StatusWaitingForUserQuestion || runs.CanMove(api.KindInput, status, api.StatusWaitingForUserQuestion)
	case api.EventApprovalResolved, api.EventUserQuestionAnswered:
		return status, model.Waiting(status)
	case api.EventUserQuestionResolved, api.EventParentClarificationRequested:
		// A worker may ask its parent's session without parking, so the answer may come
		// while the run is running.
		return status, status == api.StatusRunning || model.Waiting(status)
	case api.EventParentClarificationResolved:
		return status, false
	case api.EventRunRetried:
		return status, false // it only follows a failure
	case api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled:
		if event == api.EventCompleted && model.Waiting(status) && isResolution(lastType) {
			// An attached worker completed with requests open. They were settled first, and
			// the run counts as running in between.
			status = api.StatusRunning
		}
		return end, runs.CanMove(api.KindInput, status, end)
	case api.EventGrantRedeemed, api.EventOutput, api.EventRequestNotified, api.EventNotificationFailed, api.EventRequestAcknowledged:
	}
	// Other types belong to the worker. They, and grants, need a lease.
	return status, status == api.StatusRunning || model.Waiting(status)
}

// followClarification is follow for a parent clarification. It waits from its creation and
// ends with an output, the report of its resolution, and its completion.
func followClarification(status api.Status, lastType, event api.EventType) (api.Status, bool) {
	before := map[api.EventType]api.EventType{
		api.EventWaitingForUserQuestion:      api.EventAccepted,
		api.EventUserQuestionAnswered:        api.EventWaitingForUserQuestion,
		api.EventOutput:                      api.EventWaitingForUserQuestion,
		api.EventParentClarificationResolved: api.EventOutput,
		api.EventCompleted:                   api.EventParentClarificationResolved,
	}
	if lastType == api.EventUserQuestionAnswered {
		lastType = api.EventWaitingForUserQuestion // it waits for the remaining answers
	}
	switch {
	case event == api.EventAccepted:
		return api.StatusWaitingForUserQuestion, status == ""
	case before[event] == "" || lastType != before[event]:
		return status, false
	case event == api.EventCompleted:
		return api.StatusCompleted, runs.CanMove(api.KindParentClarification, status, api.StatusCompleted)
	}
	return status, true
}

func isResolution(event api.EventType) bool {
	return event == api.EventApprovalResolved || event == api.EventUserQuestionResolved
}

// terminalStatuses are the statuses of runs that were ended by an event of the type.
var terminalStatuses = map[api.EventType]api.Status{
	api.EventCompleted:   api.StatusCompleted,
	api.EventFailed:      api.StatusFailed,
	api.EventInterrupted: api.StatusInterrupted,
	api.EventCancelled:   api.StatusCancelled,
}
