package doctor

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// history follows a run's status through its events. It needs no requests: where
// both kinds were open, it does not tell the two waiting statuses apart, which
// checkWait does for the present one.
type history struct {
	status      api.Status // "" before the first event
	lastType    api.EventType
	first, last int64
	outputs     int64
	terminals   int
	// doubted says that a finding has told why the events cannot be right.
	doubted bool
}

// take goes on by one event of a run of that kind. It returns what is wrong with it,
// or "".
func (h *history) take(kind api.RunKind, event *model.Event) (Code, string) {
	before, lastType := h.status, h.lastType
	if h.first == 0 {
		h.first = event.EventID
	}
	h.last, h.lastType = event.EventID, event.Type
	if event.Type == api.EventOutput {
		h.outputs++
	}
	end := terminalStatuses[event.Type]
	if end != "" {
		h.terminals++
	}
	if h.doubted {
		return "", ""
	}
	if model.Terminal(before) {
		h.doubted = true
		if end != "" {
			return TerminalEventRepeated, "the run was already " + string(before) + " when it was " + string(end)
		}
		return EventAfterEnd, "the run was already " + string(before) + " before this " + string(event.Type) + " event"
	}
	next, legal := follow(before, lastType, event.Type, end)
	if kind == api.KindParentClarification {
		next, legal = followClarification(before, lastType, event.Type)
	}
	if !legal {
		h.doubted = true
		return HistoryIllegal, "the run " + told(before) + " before this " + string(event.Type) + " event"
	}
	h.status = next
	return "", ""
}

func told(status api.Status) string {
	if status == "" {
		return "was not accepted"
	}
	return "was " + string(status)
}

// follow returns the status of a run after an event, and whether it may come.
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
			return status, true // an attached worker asks for more
		}
		return api.StatusWaitingForApproval, runs.CanMove(api.KindInput, status, api.StatusWaitingForApproval)
	case api.EventWaitingForUserQuestion:
		return api.StatusWaitingForUserQuestion,
			status == api.StatusWaitingForUserQuestion || runs.CanMove(api.KindInput, status, api.StatusWaitingForUserQuestion)
	case api.EventApprovalResolved, api.EventUserQuestionAnswered:
		return status, model.Waiting(status)
	case api.EventUserQuestionResolved, api.EventParentClarificationRequested:
		// A worker may ask its parent's session and go on; the answer is reported
		// whatever it is at.
		return status, status == api.StatusRunning || model.Waiting(status)
	case api.EventParentClarificationResolved:
		return status, false
	case api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled:
		if event == api.EventCompleted && model.Waiting(status) && isResolution(lastType) {
			// An attached worker completed: what was open was settled, and the run ran
			// again for the moment.
			status = api.StatusRunning
		}
		return end, runs.CanMove(api.KindInput, status, end)
	case api.EventOutput:
	}
	// It is a worker's own.
	return status, status == api.StatusRunning || model.Waiting(status)
}

// followClarification is follow for a parent clarification, which waits from its
// first moment and ends with its answer and a note of it.
func followClarification(status api.Status, lastType, event api.EventType) (api.Status, bool) {
	before := map[api.EventType]api.EventType{
		api.EventWaitingForUserQuestion:      api.EventAccepted,
		api.EventUserQuestionAnswered:        api.EventWaitingForUserQuestion,
		api.EventOutput:                      api.EventWaitingForUserQuestion,
		api.EventParentClarificationResolved: api.EventOutput,
		api.EventCompleted:                   api.EventParentClarificationResolved,
	}
	if lastType == api.EventUserQuestionAnswered {
		lastType = api.EventWaitingForUserQuestion // it waits for the other answers
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

// terminalStatuses are the statuses that events end a run with.
var terminalStatuses = map[api.EventType]api.Status{
	api.EventCompleted:   api.StatusCompleted,
	api.EventFailed:      api.StatusFailed,
	api.EventInterrupted: api.StatusInterrupted,
	api.EventCancelled:   api.StatusCancelled,
}

// checkHistory: the events of a run begin and end where it says, and lead to its
// status.
func (e *examiner) checkHistory(r *run, at Finding) {
	h := &r.history
	if h.first == 0 {
		e.find(RunWithoutEvents, at, "the session's log has no event of the run")
		return
	}
	if r.FirstEventID != h.first {
		e.find(RunFirstEventWrong, at, "first_event_id is %d, but the run's first event is %d", r.FirstEventID, h.first)
	}
	if r.LastEventID != h.last {
		e.find(RunLastEventWrong, at, "last_event_id is %d, but the run's last event is %d", r.LastEventID, h.last)
	}
	switch {
	case model.Terminal(r.Status) && h.terminals == 0:
		e.find(TerminalEventMissing, at, "the run is %s, but no event says so", r.Status)
	case h.doubted || r.statusDoubted || h.status == r.Status || model.Waiting(h.status) && model.Waiting(r.Status):
	default:
		e.find(HistoryWrong, at, "the run is %s, but its events lead to %s", r.Status, h.status)
	}
}
