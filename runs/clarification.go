package runs

import (
	"cmp"

	"github.com/go-json-experiment/json"
)

// A clarification is a question that a child run asks its parent's session
// (design.md §4 "Parent clarification"). It stands in two sessions, and no decision
// spans two: the child's session holds a request of KindClarification, the parent's
// a run of KindParentClarification, and effects carry the question there and the
// answer back.

// Requester says who asks a parent clarification, and in which context (kheish.md
// 1.2, PendingQuestionView). Members that are not known are omitted.
type Requester struct {
	RequesterAgentID    string   `json:"requester_agent_id,omitempty"`
	RequesterSessionID  string   `json:"requester_session_id,omitempty"`
	RequesterRunID      string   `json:"requester_run_id,omitempty"`
	RequesterToolCallID string   `json:"requester_tool_call_id,omitempty"`
	RequesterProjectIDs []string `json:"requester_project_ids,omitempty"`
	RequesterChannelIDs []string `json:"requester_channel_ids,omitempty"`
	ParentProjectIDs    []string `json:"parent_project_ids,omitempty"`
	ParentChannelIDs    []string `json:"parent_channel_ids,omitempty"`
}

// WaitingOn names the clarification that a parked child waits for.
type WaitingOn struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
}

// Clarification is the body of a request of KindClarification.
type Clarification struct {
	Request   UserQuestionRequest `json:"request"`
	WaitingOn WaitingOn           `json:"waiting_on"`
	// Parked: the child's run waits for the answer. Otherwise it goes on and reads its
	// mailbox.
	Parked bool `json:"parked"`
}

// ClarificationAnswer is the answer that a child is handed: in its Resume when it
// was parked, and in its mailbox (kheish.md 1.13.5).
type ClarificationAnswer struct {
	RequestID     string           `json:"request_id"`
	Declined      bool             `json:"declined"`
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"`
	Justification *string          `json:"justification"`
	// RuntimePayload is what a dialect owes the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
}

// clarificationMessage is the payload of the message with the answer.
type clarificationMessage struct {
	Type string `json:"type"`
	ClarificationAnswer
}

// Clarification returns the body of a clarification's request in the child's
// session.
func (r *Request) Clarification() Clarification {
	var clarification Clarification
	decodeStored(r.Body, &clarification)
	return clarification
}

// parked reports whether the run of this request waits for an answer from the
// parent's session.
func (r *Request) parked() bool {
	return r.Kind == KindClarification && r.Clarification().Parked
}

// unparked reports whether the run of this request did not wait for its answer.
func (r *Request) unparked() bool {
	return r.Kind == KindClarification && !r.Clarification().Parked
}

// RequesterOf returns who asks a clarification; it is empty for other runs.
func (r *Run) RequesterOf() Requester {
	var requester Requester
	if r.Requester != nil {
		decodeStored(r.Requester, &requester)
	}
	return requester
}

// clarificationAnswer is a question's answer in the form that the child is handed.
func clarificationAnswer(question UserQuestionRequest, resolution Resolution) ClarificationAnswer {
	answer := labelAnswers(question, resolution)
	return ClarificationAnswer{
		RequestID: resolution.RequestID, Declined: answer.Declined, Summary: answer.Summary,
		Answers: answer.Answers, Value: answer.Value, Justification: answer.Justification,
		RuntimePayload: answer.RuntimePayload,
	}
}

type clarificationRequestedEvent struct {
	Type      EventType `json:"type"`
	RequestID string    `json:"request_id"`
	Parked    bool      `json:"parked"`
	WaitingOn WaitingOn `json:"waiting_on"`
}

type clarificationResolvedEvent struct {
	Type               EventType  `json:"type"`
	RequesterAgentID   string     `json:"requester_agent_id"`
	RequesterSessionID string     `json:"requester_session_id"`
	RequestID          string     `json:"request_id"`
	Declined           bool       `json:"declined"`
	Resolution         Resolution `json:"resolution"`
}

type parkedEvent struct {
	Type       EventType             `json:"type"`
	RequestIDs []string              `json:"request_ids"`
	Requests   []UserQuestionRequest `json:"requests"`
	WaitingOn  WaitingOn             `json:"waiting_on"`
}

// conclude records what became of a clarification and ends its run, in one
// decision: resolution, output, event, completion, and the effect that owes the
// child its answer (kheish.md 1.13.3).
func (w *work) conclude(run *Run, request *Request, resolution Resolution) {
	recorded := w.settle(run, request, resolution)
	requester := run.RequesterOf()
	declined := recorded.Declined != nil && *recorded.Declined
	note := "Forwarded parent clarification answer for " + request.RequestID + " to agent " + requester.RequesterAgentID + "."
	if declined {
		note = "Declined parent clarification request " + request.RequestID + " for agent " + requester.RequesterAgentID + "."
	}
	run.OutputCount++
	w.emit(run, EventOutput, outputEvent{EventOutput, OutputRecord{RunID: run.RunID, Content: note, CreatedAtMs: w.nowMs}})
	w.emit(run, EventParentClarificationResolved, clarificationResolvedEvent{
		Type: EventParentClarificationResolved, RequesterAgentID: requester.RequesterAgentID,
		RequesterSessionID: requester.RequesterSessionID, RequestID: request.RequestID,
		Declined: declined, Resolution: recorded,
	})
	w.finish(run, StatusCompleted, LeaseRevoked, EventCompleted, plainEvent{EventCompleted})
	w.owe(&Effect{
		SessionID: run.SessionID, EffectID: effectID(EffectDeliverAnswer, run.RunID), RunID: run.RunID,
		Kind: EffectDeliverAnswer, TargetSessionID: requester.RequesterSessionID,
		Payload: encode(deliverAnswerPayload{
			RunID: requester.RequesterRunID, RequestID: request.RequestID,
			Message:    encode(clarificationMessage{messageTypeAnswer, clarificationAnswer(request.Question(), recorded)}),
			Resolution: encode(recorded),
		}),
	})
}

// declineAll declines every clarification that waits in the session, and reports
// whether there was one.
func (w *work) declineAll(justification, reason string, actor Actor) bool {
	found := false
	for _, run := range w.unfinished() {
		if run.Kind != KindParentClarification {
			continue
		}
		w.expireDue(run)
		for _, request := range w.open(run.RunID) {
			found = true
			w.conclude(run, request, declinedBy(OutcomeDeclined, justification, reason, actor))
		}
	}
	return found
}

// declinedBy is the resolution of a clarification that nobody answered: to the child
// each of them is a declined answer, and the outcome says what happened.
func declinedBy(outcome Outcome, justification, reason string, actor Actor) Resolution {
	declined := true
	return Resolution{
		Outcome: outcome, Declined: &declined, Justification: justification, Reason: reason,
		ResolvedBy: actor.Name, Via: actor.Via,
	}
}

// sameAnswer reports whether an answer is the one that was recorded: equal as typed
// objects, where the order of arrays counts and the justification too (kheish.md
// 7.1, 23).
func sameAnswer(given QuestionAnswer, request *Request) bool {
	recorded := request.Recorded()
	stored := QuestionAnswer{
		RequestID: recorded.RequestID, Answers: recorded.Answers,
		Declined: recorded.Declined != nil && *recorded.Declined,
		Value:    recorded.Value, Justification: recorded.Justification,
	}
	given.RuntimePayload, given.Verbatim = nil, false
	a, errA := Digest(given)
	b, errB := Digest(stored)
	return errA == nil && errB == nil && a == b
}

// openClarification returns the clarification's open question, or tells a late
// caller what became of it. done means that the very same answer was recorded.
func (w *work) openClarification(run *Run, given QuestionAnswer) (request *Request, done bool, err error) {
	request = w.request(run.RunID, given.RequestID)
	waiting := w.waitsFor(run.RunID, KindQuestion)
	conflict := newError(CodeQuestionResolutionConflict, "run %s was already resolved with a different answer", run.RunID)
	switch {
	case request != nil && request.Open():
		return request, false, nil
	case waiting:
		return nil, false, newError(CodeQuestionRequestMismatch,
			"user-question resolution %s does not match any pending request on run %s", given.RequestID, run.RunID)
	case request == nil:
		// An id that it never had: the caller is told of its one request.
		for _, asked := range w.requestsOf(run.RunID) {
			conflict.Recorded = asked.recordedDecision()
		}
		return nil, false, conflict
	case request.Outcome == OutcomeExpired:
		return nil, false, settledQuestionError(request)
	case sameAnswer(given, request):
		return request, true, nil
	}
	return nil, false, conflict.with(request.recordedDecision())
}

// clarificationPreview is what a list shows of a clarification: its first question.
func clarificationPreview(question UserQuestionRequest) string {
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
