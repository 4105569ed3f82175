package doctor

import "github.com/holdpoint/holdpoint/runs"

// history follows a run's status through its events. It needs no requests: where
// both kinds were open, it does not tell the two waiting statuses apart, which
// checkWait does for the present one.
type history struct {
	status      runs.Status // "" before the first event
	lastType    runs.EventType
	first, last int64
	outputs     int64
	terminals   int
	// doubted says that a finding has told why the events cannot be right.
	doubted bool
}

// take goes on by one event of a run of that kind. It returns what is wrong with it,
// or "".
func (h *history) take(kind runs.RunKind, event *runs.Event) (Code, string) {
	before, lastType := h.status, h.lastType
	if h.first == 0 {
		h.first = event.EventID
	}
	h.last, h.lastType = event.EventID, event.Type
	if event.Type == runs.EventOutput {
		h.outputs++
	}
	end := terminalStatuses[event.Type]
	if end != "" {
		h.terminals++
	}
	if h.doubted {
		return "", ""
	}
	if runs.Terminal(before) {
		h.doubted = true
		if end != "" {
			return TerminalEventRepeated, "the run was already " + string(before) + " when it was " + string(end)
		}
		return EventAfterEnd, "the run was already " + string(before) + " before this " + string(event.Type) + " event"
	}
	next, legal := follow(before, lastType, event.Type, end)
	if kind == runs.KindParentClarification {
		next, legal = followClarification(before, lastType, event.Type)
	}
	if !legal {
		h.doubted = true
		return HistoryIllegal, "the run " + told(before) + " before this " + string(event.Type) + " event"
	}
	h.status = next
	return "", ""
}

func told(status runs.Status) string {
	if status == "" {
		return "was not accepted"
	}
	return "was " + string(status)
}

// follow returns the status of a run after an event, and whether it may come.
func follow(status runs.Status, lastType, event runs.EventType, end runs.Status) (runs.Status, bool) {
	switch event {
	case runs.EventAccepted:
		return runs.StatusQueued, status == ""
	case runs.EventQueued:
		return status, lastType == runs.EventAccepted
	case runs.EventStarted:
		return runs.StatusRunning, runs.CanMove(runs.KindInput, status, runs.StatusRunning)
	case runs.EventWaitingForApproval:
		if runs.Waiting(status) {
			return status, true // an attached worker asks for more
		}
		return runs.StatusWaitingForApproval, runs.CanMove(runs.KindInput, status, runs.StatusWaitingForApproval)
	case runs.EventWaitingForUserQuestion:
		return runs.StatusWaitingForUserQuestion,
			status == runs.StatusWaitingForUserQuestion || runs.CanMove(runs.KindInput, status, runs.StatusWaitingForUserQuestion)
	case runs.EventApprovalResolved, runs.EventUserQuestionAnswered:
		return status, runs.Waiting(status)
	case runs.EventUserQuestionResolved, runs.EventParentClarificationRequested:
		// A worker may ask its parent's session and go on; the answer is reported
		// whatever it is at.
		return status, status == runs.StatusRunning || runs.Waiting(status)
	case runs.EventParentClarificationResolved:
		return status, false
	case runs.EventCompleted, runs.EventFailed, runs.EventInterrupted, runs.EventCancelled:
		if event == runs.EventCompleted && runs.Waiting(status) && isResolution(lastType) {
			// An attached worker completed: what was open was settled, and the run ran
			// again for the moment.
			status = runs.StatusRunning
		}
		return end, runs.CanMove(runs.KindInput, status, end)
	case runs.EventOutput:
	}
	// It is a worker's own.
	return status, status == runs.StatusRunning || runs.Waiting(status)
}

// followClarification is follow for a parent clarification, which waits from its
// first moment and ends with its answer and a note of it.
func followClarification(status runs.Status, lastType, event runs.EventType) (runs.Status, bool) {
	before := map[runs.EventType]runs.EventType{
		runs.EventWaitingForUserQuestion:      runs.EventAccepted,
		runs.EventUserQuestionAnswered:        runs.EventWaitingForUserQuestion,
		runs.EventOutput:                      runs.EventWaitingForUserQuestion,
		runs.EventParentClarificationResolved: runs.EventOutput,
		runs.EventCompleted:                   runs.EventParentClarificationResolved,
	}
	if lastType == runs.EventUserQuestionAnswered {
		lastType = runs.EventWaitingForUserQuestion // it waits for the other answers
	}
	switch {
	case event == runs.EventAccepted:
		return runs.StatusWaitingForUserQuestion, status == ""
	case before[event] == "" || lastType != before[event]:
		return status, false
	case event == runs.EventCompleted:
		return runs.StatusCompleted, runs.CanMove(runs.KindParentClarification, status, runs.StatusCompleted)
	}
	return status, true
}

func isResolution(event runs.EventType) bool {
	return event == runs.EventApprovalResolved || event == runs.EventUserQuestionResolved
}

// terminalStatuses are the statuses that events end a run with.
var terminalStatuses = map[runs.EventType]runs.Status{
	runs.EventCompleted:   runs.StatusCompleted,
	runs.EventFailed:      runs.StatusFailed,
	runs.EventInterrupted: runs.StatusInterrupted,
	runs.EventCancelled:   runs.StatusCancelled,
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
	case runs.Terminal(r.Status) && h.terminals == 0:
		e.find(TerminalEventMissing, at, "the run is %s, but no event says so", r.Status)
	case h.doubted || r.statusDoubted || h.status == r.Status || runs.Waiting(h.status) && runs.Waiting(r.Status):
	default:
		e.find(HistoryWrong, at, "the run is %s, but its events lead to %s", r.Status, h.status)
	}
}
