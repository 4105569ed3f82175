package timbal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// history is what the log of a run says up to an event: what is open, and how the run
// ended.
type history struct {
	// at is the event, 0 before the first; atMs its time.
	at, atMs int64
	// open are the waits in the order in which they were raised.
	open []*wait
	// settled holds the ids of the requests that were settled.
	settled map[string]bool
	// end is the event that ended the run.
	end *model.Event
	// stopped is the first request that was not settled by an answer right before the
	// run ended: the one by which it was cancelled.
	stopped *stoppage
	// decided is the last event of the newest decision that was made here, and before
	// that of the one before it. A decision is several events when it is about several
	// requests.
	decided, before int64
	decidedAtMs     int64
}

// stoppage is how a request ended together with its run.
type stoppage struct {
	approvalID string // empty for a question
	reason     string
}

func newHistory() history { return history{settled: map[string]bool{}} }

// answered reports whether a request was settled, or, when a question is named, whether
// that one has its answer.
func (h *history) answered(requestID, questionID string) bool {
	for _, w := range h.open {
		if w.requestID() == requestID {
			return w.answered[questionID]
		}
	}
	return h.settled[requestID]
}

type loggedApprovals struct {
	Requests []api.ApprovalRequest `json:"requests"`
}

type loggedQuestions struct {
	Requests []api.UserQuestionRequest `json:"requests"`
}

// loggedDecision holds what the events about decisions have, each some of it.
type loggedDecision struct {
	Resolutions []api.Resolution `json:"resolutions"`
	Resolution  *api.Resolution  `json:"resolution"`
	RequestID   string           `json:"request_id"`
	QuestionIDs []string         `json:"question_ids"`
	Via         string           `json:"via"`
}

func (d *loggedDecision) all() []api.Resolution {
	if d.Resolution != nil {
		return append(d.Resolutions, *d.Resolution)
	}
	return d.Resolutions
}

// decisionOf reads an event about decisions; nil for any other event.
func decisionOf(event *model.Event) (*loggedDecision, error) {
	//exhaustive:ignore
	switch event.Type {
	case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventUserQuestionAnswered,
		api.EventParentClarificationResolved:
		decision := &loggedDecision{}
		return decision, readLogged(event, decision)
	default:
		return nil, nil
	}
}

func readLogged(event *model.Event, into any) error {
	if err := json.Unmarshal(event.Body, into, encoding); err != nil {
		return fmt.Errorf("event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return nil
}

// apply takes in the next event of the run.
func (h *history) apply(event *model.Event) error {
	previous := h.at
	h.at, h.atMs = event.EventID, event.TimestampMs
	decision, err := decisionOf(event)
	if err != nil {
		return err
	}
	if decision != nil {
		h.decide(event, decision, previous)
		return nil
	}
	//exhaustive:ignore
	switch event.Type {
	case api.EventWaitingForApproval:
		var raised loggedApprovals
		if err := readLogged(event, &raised); err != nil {
			return err
		}
		for i := range raised.Requests {
			h.open = append(h.open, &wait{approval: &raised.Requests[i]})
		}
	case api.EventWaitingForUserQuestion:
		var raised loggedQuestions
		if err := readLogged(event, &raised); err != nil {
			return err
		}
		for i := range raised.Requests {
			h.open = append(h.open, &wait{question: &raised.Requests[i], answered: map[string]bool{}})
		}
	case api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled:
		h.end = event
		if h.decided == previous {
			h.decided = event.EventID
		}
		return nil
	}
	h.stopped = nil
	return nil
}

func (h *history) decide(event *model.Event, decision *loggedDecision, previous int64) {
	made := decision.Via
	for _, resolution := range decision.all() {
		made = resolution.Via
		h.settled[resolution.RequestID] = true
		at := slices.IndexFunc(h.open, func(w *wait) bool { return w.requestID() == resolution.RequestID })
		if at < 0 {
			continue
		}
		h.stop(h.open[at], &resolution)
		h.open = slices.Delete(slices.Clone(h.open), at, at+1)
	}
	for _, w := range h.open {
		if w.requestID() == decision.RequestID {
			for _, id := range decision.QuestionIDs {
				w.answered[id] = true
			}
		}
	}
	if made != via {
		return
	}
	if h.decided != previous || h.decidedAtMs != event.TimestampMs {
		h.before = h.decided
	}
	h.decided, h.decidedAtMs = event.EventID, event.TimestampMs
}

// stop notes the request by which a run is cancelled, should the end come next. A
// worker that takes a request back ends nothing, and neither does an approval that
// expires.
func (h *history) stop(w *wait, resolution *api.Resolution) {
	byRun := resolution.Outcome == api.OutcomeCancelled && resolution.Via != api.ViaWorker ||
		resolution.Outcome == api.OutcomeExpired && w.approval == nil
	switch {
	case !byRun:
		h.stopped = nil
	case h.stopped == nil:
		h.stopped = &stoppage{reason: reasonOf(resolution)}
		if w.approval != nil {
			h.stopped.approvalID = w.id()
		}
	}
}

// reasonOf is why a request was settled as it was.
func reasonOf(resolution *api.Resolution) string {
	if resolution.Reason != "" {
		return resolution.Reason
	}
	return resolution.Justification
}

// neverWaited reports whether the event only tells that requests were settled in the
// moment in which they were raised, by a rule or because their deadline was past: nobody
// was ever asked. What else is settled was open for a while, however short.
func (h *history) neverWaited(decision *loggedDecision) bool {
	resolutions := decision.all()
	for i := range resolutions {
		resolution := &resolutions[i]
		if strings.HasPrefix(resolution.Via, api.ViaRule) {
			continue
		}
		if resolution.Via != api.ViaClock || resolution.ResolvedAtMs != h.raisedAtMs(resolution.RequestID) {
			return false
		}
	}
	return len(resolutions) > 0
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
