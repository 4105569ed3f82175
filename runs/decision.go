package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ApprovalDecision is a decision about one approval as a command carries it: the
// members of an ApprovalResolution, and what only a face of the service adds. Its JSON
// form is what a keyed call is told from another by.
type ApprovalDecision struct {
	RequestID     string       `json:"request_id"`
	Behavior      api.Behavior `json:"behavior"`
	UpdatedInput  api.JSON     `json:"updated_input,omitzero"`
	Justification string       `json:"justification,omitempty"`
	Reason        string       `json:"reason,omitempty"`
	Remember      api.Remember `json:"remember,omitempty"`
	RememberForMs *int64       `json:"remember_for_ms,omitempty"`
	// RememberMatch replaces the match that the rule would have: the pattern keys of
	// the request, else its tool and exact input.
	RememberMatch *api.RuleMatch `json:"remember_match,omitempty"`
	// RuntimePayload is handed to the worker as it is, for a runtime with words of its own.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`

	// ruleID and ruleAgeMs are those of the rule that Remember writes.
	ruleID    string
	ruleAgeMs int64
}

// DecisionOf returns the decision that a caller's resolution makes.
func DecisionOf(given api.ApprovalResolution) ApprovalDecision {
	return ApprovalDecision{
		RequestID: given.RequestID, Behavior: given.Behavior, UpdatedInput: given.UpdatedInput,
		Justification: given.Justification, Reason: given.Reason,
		Remember: given.Remember, RememberForMs: given.RememberForMs,
	}
}

// DecisionsOf returns the decisions that a caller's resolutions make, nil for nil.
func DecisionsOf(given []api.ApprovalResolution) []ApprovalDecision {
	if given == nil {
		return nil
	}
	decisions := make([]ApprovalDecision, len(given))
	for i := range given {
		decisions[i] = DecisionOf(given[i])
	}
	return decisions
}

// QuestionAnswer is an answer to one question request as a command carries it: the
// members of a UserQuestionResolution, and what only a face of the service adds. Its
// JSON form is what a keyed call is told from another by.
type QuestionAnswer struct {
	RequestID     string                   `json:"request_id"`
	Answers       []api.UserQuestionAnswer `json:"answers,omitempty"`
	Declined      bool                     `json:"declined,omitzero"`
	Value         api.JSON                 `json:"value,omitzero"`
	Justification string                   `json:"justification,omitempty"`
	// RuntimePayload is handed to the worker as it is, for a runtime with words of its own.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`
	// Verbatim takes Value, which must be there and may be null, for the answer to
	// structured questions too, unchecked: the worker's runtime knows what it means.
	Verbatim bool `json:"verbatim,omitzero"`
}

// AnswerOf returns the answer that a caller's resolution gives.
func AnswerOf(given api.UserQuestionResolution) QuestionAnswer {
	return QuestionAnswer{
		RequestID: given.RequestID, Answers: given.Answers, Declined: given.Declined,
		Value: given.Value, Justification: given.Justification,
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
func (w *workingCopy) openClarification(run *model.Run, given QuestionAnswer) (request *model.Request, done bool, err error) {
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

// prepareApprovals checks decisions about approvals as far as that needs no rows, and
// makes the ids of the rules that are written with them. The pointer is that of the
// batch in the caller's body. It comes before checkApprovals and decideApprovals.
func prepareApprovals(resolutions []ApprovalDecision, pointer string, maxRuleAgeMs int64, newID IDSource, faults *refusal.Faults) {
	if len(resolutions) > api.MaxResolutionsPerBatch {
		faults.Add(pointer, "must have at most %d entries", api.MaxResolutionsPerBatch)
		return
	}
	for i := range resolutions {
		resolution, at := &resolutions[i], fmt.Sprintf("%s/%d", pointer, i)
		document.AbsentNull(&resolution.UpdatedInput)
		if resolution.RequestID == "" {
			faults.Add(at+"/request_id", "is required")
		}
		if resolution.Behavior != api.BehaviorAllow && resolution.Behavior != api.BehaviorDeny {
			faults.Add(at+"/behavior", "must be %q or %q", api.BehaviorAllow, api.BehaviorDeny)
		}
		faults.Text(at+"/justification", resolution.Justification, api.MaxTextLength)
		faults.Text(at+"/reason", resolution.Reason, api.MaxTextLength)
		resolution.prepareRemember(at, maxRuleAgeMs, newID, faults)
	}
}

// decideApprovals records decisions that have been checked, with the rules that some
// of them write, and reports them in one event.
func (w *workingCopy) recordApprovals(run *model.Run, given []ApprovalDecision, actor Actor) {
	resolutions := make([]api.Resolution, len(given))
	for i := range given {
		one := &given[i]
		outcome := api.OutcomeAllowed
		if one.Behavior == api.BehaviorDeny {
			outcome = api.OutcomeDenied
		}
		request := w.request(run.RunID, one.RequestID)
		resolutions[i] = w.settleRequest(run, request, api.Resolution{
			Outcome: outcome, Behavior: one.Behavior, UpdatedInput: one.UpdatedInput,
			Justification: one.Justification, Reason: one.Reason,
			ResolvedBy: actor.Name, Via: actor.Via, Rule: w.writeRememberedRule(request, one, actor), RuntimePayload: one.RuntimePayload,
		})
	}
	w.emit(run, api.EventApprovalResolved, approvalResolvedEvent{api.EventApprovalResolved, resolutions})
}

// checkApprovals checks a batch of decisions about a run's open approvals: each is
// about another one, and what replaces an input fits its schema. The pointer is that
// of the batch in the caller's body.
func (w *workingCopy) checkApprovals(run *model.Run, resolutions []ApprovalDecision, pointer string) error {
	seen := map[string]bool{}
	for _, given := range resolutions {
		if seen[given.RequestID] {
			return refusal.New(api.CodeApprovalDuplicate, "duplicate approval resolution for request %s", given.RequestID)
		}
		seen[given.RequestID] = true
		request := w.request(run.RunID, given.RequestID)
		if request == nil || request.Kind != model.KindApproval || !request.Open() {
			refused := refusal.New(api.CodeApprovalNotPending, "approval resolution references unknown pending request %s", given.RequestID)
			if request != nil {
				refused.Recorded = request.RecordedDecision()
			}
			return refused
		}
	}
	var faults []api.Fault
	for i, given := range resolutions {
		if given.Behavior != api.BehaviorAllow || given.UpdatedInput == nil {
			continue
		}
		if schema := w.request(run.RunID, given.RequestID).Approval().InputSchema; schema != nil {
			faults = append(faults, document.MatchSchema(schema, given.UpdatedInput, fmt.Sprintf("%s/%d/updated_input", pointer, i))...)
		}
	}
	if len(faults) > 0 {
		return refusal.Invalid(faults...)
	}
	return nil
}

// keepPart keeps answers that have been checked until there is one to each question.
func (w *workingCopy) keepPartialAnswer(run *model.Run, request *model.Request, given QuestionAnswer, answers []api.UserQuestionAnswer, actor Actor) {
	ids := make([]string, len(given.Answers))
	for i := range given.Answers {
		ids[i] = given.Answers[i].QuestionID
	}
	w.editRequest(request).PartialAnswers = document.Encode(answers)
	w.emit(run, api.EventUserQuestionAnswered, questionAnsweredEvent{
		Type: api.EventUserQuestionAnswered, RequestID: request.RequestID, QuestionIDs: ids, Answers: given.Answers,
		Justification: given.Justification, ResolvedBy: actor.Name, Via: actor.Via,
		Open: len(request.Question().Questions) - len(answers),
	})
	w.saveRun(run)
}

// answer records an answer that has been checked, and reports it. A clarification is
// over with it; any other run goes on with waitOrGoOn.
func (w *workingCopy) recordAnswer(run *model.Run, request *model.Request, resolution api.Resolution, actor Actor) {
	resolution.ResolvedBy, resolution.Via = actor.Name, actor.Via
	if run.Kind == api.KindParentClarification {
		w.completeClarification(run, request, resolution)
		return
	}
	recorded := w.settleRequest(run, request, resolution)
	w.emit(run, api.EventUserQuestionResolved, questionResolvedEvent{api.EventUserQuestionResolved, recorded})
}

// question returns the open question that is answered. done means that it is a
// clarification to which the very same answer was recorded before.
func (w *workingCopy) answeredQuestion(run *model.Run, given QuestionAnswer) (request *model.Request, done bool, err error) {
	if run.Kind == api.KindParentClarification {
		return w.openClarification(run, given)
	}
	request, err = w.openQuestion(run, given.RequestID, "resolution")
	return request, false, err
}

// clarificationAsking returns the session's clarification that waits the longest
// with a request of that id, or nil.
func (w *workingCopy) clarificationAsking(requestID string) *model.Run {
	for _, run := range w.unfinished() {
		if run.Kind != api.KindParentClarification {
			continue
		}
		w.expireDue(run)
		if request := w.request(run.RunID, requestID); request != nil && request.Open() {
			return run
		}
	}
	return nil
}

// newestInSession returns the request of that id and kind that was raised last in
// any of the session's runs, or nil.
func (w *workingCopy) newestInSession(requestID string, kind model.RequestKind) *model.Request {
	var newest *model.Request
	for key, row := range w.state.Requests {
		// A batch may have loaded a run of another session, whose id somebody chose for
		// a new run in this one.
		if key.RequestID != requestID || row.SessionID != w.state.SessionID {
			continue
		}
		request := w.request(key.RunID, key.RequestID)
		if request.Kind != kind {
			continue
		}
		if newest == nil || request.CreatedAtMs > newest.CreatedAtMs ||
			request.CreatedAtMs == newest.CreatedAtMs && request.RunID > newest.RunID {
			newest = request
		}
	}
	return newest
}

// openQuestion returns an open question of a run, on which everything due has been
// expired, or tells why there is none. The verb is that of the call.
func (w *workingCopy) openQuestion(run *model.Run, requestID, verb string) (*model.Request, error) {
	request := w.request(run.RunID, requestID)
	known := request != nil && request.Kind == model.KindQuestion
	if known && request.Open() {
		return request, nil
	}
	if w.waitsFor(run.RunID, model.KindQuestion) {
		refused := refusal.New(api.CodeQuestionRequestMismatch, "user-question %s %s does not match any pending request on run %s", verb, requestID, run.RunID)
		if known {
			refused.Recorded = request.RecordedDecision()
		}
		return nil, refused
	}
	if known {
		return nil, settledQuestionError(request)
	}
	return nil, refusal.New(api.CodeQuestionStateConflict, "run %s is not waiting for user input", run.RunID)
}

// checkBatch checks decisions about approvals as ResolveApprovals does.
func (w *workingCopy) checkBatch(run *model.Run, approvals []ApprovalDecision) error {
	alone := &ResolveApprovals{RunID: run.RunID, Resolutions: approvals}
	if err := alone.checkState(w, run); err != nil {
		return err
	}
	return w.checkApprovals(run, approvals, "/approvals")
}

// cancelled returns the open request by which a run is cancelled, and what it is
// called. An id that the run never had counts as one of what it waits for.
func (w *workingCopy) cancelled(run *model.Run, requestID string) (request *model.Request, what string, err error) {
	request = w.request(run.RunID, requestID)
	approval := request != nil && request.Kind == model.KindApproval
	if request == nil {
		approval = w.waitsFor(run.RunID, model.KindApproval) && !w.waitsFor(run.RunID, model.KindQuestion)
	}
	if !approval {
		request, err = w.openQuestion(run, requestID, "cancel")
		return request, questionText, err
	}
	return request, approvalText, w.checkBatch(run, []ApprovalDecision{{RequestID: requestID, Behavior: api.BehaviorDeny}})
}

// remembersDeny reports whether a decision writes a rule that denies.
func remembersDeny(resolutions []ApprovalDecision) bool {
	for i := range resolutions {
		if resolutions[i].Remember != "" && resolutions[i].Behavior == api.BehaviorDeny {
			return true
		}
	}
	return false
}
