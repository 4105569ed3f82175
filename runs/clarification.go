package runs

import (
	"cmp"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A clarification is a question that a child run asks its parent's session
// (design.md §4 "Parent clarification"). It stands in two sessions, and no decision
// spans two: the child's session holds a request of KindClarification, the parent's
// a run of KindParentClarification, and effects carry the question there and the
// answer back.

// clarificationMessage is the payload of the message with the answer.
type clarificationMessage struct {
	Type string `json:"type"`
	api.ClarificationAnswer
}

type clarificationRequestedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	Parked    bool          `json:"parked"`
	WaitingOn api.WaitingOn `json:"waiting_on"`
}

type clarificationResolvedEvent struct {
	Type               api.EventType  `json:"type"`
	RequesterAgentID   string         `json:"requester_agent_id"`
	RequesterSessionID string         `json:"requester_session_id"`
	RequestID          string         `json:"request_id"`
	Declined           bool           `json:"declined"`
	Resolution         api.Resolution `json:"resolution"`
}

type parkedEvent struct {
	Type       api.EventType             `json:"type"`
	RequestIDs []string                  `json:"request_ids"`
	Requests   []api.UserQuestionRequest `json:"requests"`
	WaitingOn  api.WaitingOn             `json:"waiting_on"`
}

// conclude records what became of a clarification and ends its run, in one
// decision: resolution, output, event, completion, and the effect that owes the
// child its answer (kheish.md 1.13.3).
func (w *work) conclude(run *model.Run, request *model.Request, resolution api.Resolution) {
	recorded := w.settle(run, request, resolution)
	requester := run.RequesterOf()
	declined := recorded.Declined != nil && *recorded.Declined
	note := "Forwarded parent clarification answer for " + request.RequestID + " to agent " + requester.RequesterAgentID + "."
	if declined {
		note = "Declined parent clarification request " + request.RequestID + " for agent " + requester.RequesterAgentID + "."
	}
	run.OutputCount++
	w.emit(run, api.EventOutput, outputEvent{api.EventOutput, api.OutputRecord{RunID: run.RunID, Content: note, CreatedAtMs: w.nowMs}})
	w.emit(run, api.EventParentClarificationResolved, clarificationResolvedEvent{
		Type: api.EventParentClarificationResolved, RequesterAgentID: requester.RequesterAgentID,
		RequesterSessionID: requester.RequesterSessionID, RequestID: request.RequestID,
		Declined: declined, Resolution: recorded,
	})
	w.finish(run, api.StatusCompleted, model.LeaseRevoked, api.EventCompleted, plainEvent{api.EventCompleted})
	w.owe(&model.Effect{
		SessionID: run.SessionID, EffectID: model.EffectID(api.EffectDeliverAnswer, run.RunID), RunID: run.RunID,
		Kind: api.EffectDeliverAnswer, TargetSessionID: requester.RequesterSessionID,
		Payload: document.Encode(deliverAnswerPayload{
			RunID: requester.RequesterRunID, RequestID: request.RequestID,
			Message:    document.Encode(clarificationMessage{messageTypeAnswer, model.ClarificationAnswerOf(request.Question(), recorded)}),
			Resolution: document.Encode(recorded),
		}),
	})
}

// declineAll declines every clarification that waits in the session, and reports
// whether there was one.
func (w *work) declineAll(justification, reason string, actor Actor) bool {
	found := false
	for _, run := range w.unfinished() {
		if run.Kind != api.KindParentClarification {
			continue
		}
		w.expireDue(run)
		for _, request := range w.open(run.RunID) {
			found = true
			w.conclude(run, request, declinedBy(api.OutcomeDeclined, justification, reason, actor))
		}
	}
	return found
}

// declinedBy is the resolution of a clarification that nobody answered: to the child
// each of them is a declined answer, and the outcome says what happened.
func declinedBy(outcome api.Outcome, justification, reason string, actor Actor) api.Resolution {
	declined := true
	return api.Resolution{
		Outcome: outcome, Declined: &declined, Justification: justification, Reason: reason,
		ResolvedBy: actor.Name, Via: actor.Via,
	}
}

// sameAnswer reports whether an answer is the one that was recorded: equal as typed
// objects, where the order of arrays counts and the justification too (kheish.md
// 7.1, 23).
func sameAnswer(given QuestionAnswer, request *model.Request) bool {
	recorded := request.Recorded()
	stored := QuestionAnswer{
		RequestID: recorded.RequestID, Answers: recorded.Answers,
		Declined: recorded.Declined != nil && *recorded.Declined,
		Value:    recorded.Value, Justification: recorded.Justification,
	}
	given.RuntimePayload, given.Verbatim = nil, false
	a, errA := document.Digest(given)
	b, errB := document.Digest(stored)
	return errA == nil && errB == nil && a == b
}

// openClarification returns the clarification's open question, or tells a late
// caller what became of it. done means that the very same answer was recorded.
func (w *work) openClarification(run *model.Run, given QuestionAnswer) (request *model.Request, done bool, err error) {
	request = w.request(run.RunID, given.RequestID)
	waiting := w.waitsFor(run.RunID, model.KindQuestion)
	conflict := refusal.New(api.CodeQuestionResolutionConflict, "run %s was already resolved with a different answer", run.RunID)
	switch {
	case request != nil && request.Open():
		return request, false, nil
	case waiting:
		return nil, false, refusal.New(api.CodeQuestionRequestMismatch,
			"user-question resolution %s does not match any pending request on run %s", given.RequestID, run.RunID)
	case request == nil:
		// An id that it never had: the caller is told of its one request.
		for _, asked := range w.requestsOf(run.RunID) {
			conflict.Recorded = asked.RecordedDecision()
		}
		return nil, false, conflict
	case request.Outcome == api.OutcomeExpired:
		return nil, false, settledQuestionError(request)
	case sameAnswer(given, request):
		return request, true, nil
	}
	return nil, false, conflict.With(request.RecordedDecision())
}

// clarificationPreview is what a list shows of a clarification: its first question.
func clarificationPreview(question api.UserQuestionRequest) string {
	if len(question.Questions) > 0 {
		return shorten(question.Questions[0].Question)
	}
	var payload struct {
		Question string `json:"question"`
	}
	if question.Payload != nil && json.Unmarshal(question.Payload, &payload) != nil {
		payload.Question = ""
	}
	return shorten(cmp.Or(payload.Question, question.Kind))
}
