package timbal

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
)

// history is the state of a run's log at an event: what is open, and how the run ended.
type history struct {
	// lastEventID is 0 before the first event; lastEventMs is its time.
	lastEventID, lastEventMs int64
	// open are the waits in the order in which they were raised.
	open []*wait
	// settled holds the ids of settled requests.
	settled map[string]bool
	// end is the event that ended the run.
	end *model.Event
	// stopped is the request by which the run was cancelled: the first one settled without a
	// decision right before the end. settledAt is the last event that settled something.
	stopped   *stoppage
	settledAt int64
	// decided is the last event of the newest decision made through this dialect, and decidedBefore
	// the last event of the decision before it. A decision about several requests has several events.
	decided, decidedBefore int64
	decidedAtMs            int64
}

// stoppage is how a request ended together with its run.
type stoppage struct {
	approvalID string // empty for a question
	reason     string
}

func newHistory() history { return history{settled: map[string]bool{}} }

// answered reports whether a request is settled or, with a question id, whether that question is
// answered.
func (h *history) answered(requestID, questionID string) bool {
	for _, w := range h.open {
		if w.requestID() == requestID {
			return w.answered[questionID]
		}
	}
	return h.settled[requestID]
}

// apply folds the run's next event. Events that are not about requests may be skipped, except the
// last one: the events of one decision have consecutive numbers.
func (h *history) apply(event *model.Event) error {
	h.lastEventID, h.lastEventMs = event.EventID, event.TimestampMs
	change, err := kit.ChangeOf(event)
	if err != nil {
		return err
	}
	if change.Decided() {
		h.applyDecision(event, &change)
		return nil
	}
	if change.Redacted {
		h.open = nil // the redacted event settled one of them, and the run is over
	}
	for i := range change.Approvals {
		h.open = append(h.open, &wait{approval: &change.Approvals[i]})
	}
	for i := range change.Questions {
		h.open = append(h.open, &wait{question: &change.Questions[i], answered: map[string]bool{}})
	}
	if model.Terminal(api.Status(event.Type)) {
		h.end = event
		if event.EventID != h.settledAt+1 {
			h.stopped = nil
		}
		if event.EventID == h.decided+1 && event.TimestampMs == h.decidedAtMs {
			h.decided = event.EventID
		}
		return nil
	}
	h.stopped = nil
	return nil
}

func (h *history) applyDecision(event *model.Event, change *kit.Change) {
	if event.EventID != h.settledAt+1 {
		h.stopped = nil
	}
	h.settledAt = event.EventID
	via := change.Via
	for i := range change.Resolutions {
		resolution := &change.Resolutions[i]
		via = resolution.Via
		h.settled[resolution.RequestID] = true
		at := slices.IndexFunc(h.open, func(w *wait) bool { return w.requestID() == resolution.RequestID })
		if at < 0 {
			continue
		}
		h.noteStop(h.open[at], resolution)
		h.open = slices.Delete(slices.Clone(h.open), at, at+1)
	}
	for _, w := range h.open {
		if w.requestID() == change.RequestID {
			for _, id := range change.QuestionIDs {
				w.answered[id] = true
			}
		}
	}
	if via != Via {
		return
	}
	if event.EventID != h.decided+1 || event.TimestampMs != h.decidedAtMs {
		h.decidedBefore = h.decided
	}
	h.decided, h.decidedAtMs = event.EventID, event.TimestampMs
}

// noteStop records the request that may have cancelled the run, if the run's end comes next.
// Withdrawing a request does not end a run, and neither does an expired approval.
func (h *history) noteStop(w *wait, resolution *api.Resolution) {
	byRun := resolution.Outcome == api.OutcomeCancelled && resolution.Via != api.ViaWorker ||
		resolution.Outcome == api.OutcomeExpired && w.approval == nil
	switch {
	case !byRun:
		h.stopped = nil
	case h.stopped == nil:
		h.stopped = &stoppage{reason: reasonOf(resolution)}
		if w.approval != nil {
			h.stopped.approvalID = w.shownID()
		}
	}
}

// reasonOf is why a request was settled without a decision.
func reasonOf(resolution *api.Resolution) string {
	if resolution.Reason != "" {
		return resolution.Reason
	}
	return resolution.Justification
}

// settledWhenRaised reports whether a change only reports requests that were settled when they were
// raised, by a rule or because their deadline had passed. No person was asked.
func (h *history) settledWhenRaised(change *kit.Change) bool {
	for i := range change.Resolutions {
		resolution := &change.Resolutions[i]
		if !strings.HasPrefix(resolution.Via, api.ViaRule) &&
			(resolution.Via != api.ViaClock || resolution.ResolvedAtMs != h.raisedAtMs(resolution.RequestID)) {
			return false
		}
	}
	return len(change.Resolutions) > 0
}

// raisedAtMs is when an open request was raised; 0 when it is not open.
func (h *history) raisedAtMs(requestID string) int64 {
	for _, w := range h.open {
		switch {
		case w.requestID() != requestID:
		case w.approval != nil:
			return w.approval.CreatedAtMs
		default:
			return w.question.CreatedAtMs
		}
	}
	return 0
}
