package runs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// resolution is the common path of the commands that settle requests. ResolveApprovals,
// AnswerQuestion, CancelQuestion and DecideRequests differ in their inputs and in how a keyed
// call is identified. Each fills in a resolution and decides through it, so that all make the
// same checks in the same order (docs/spec/v1.md#order-of-checks).
type resolution struct {
	// sessionID is used when runID is empty. Approvals are then for the active run, or for the call
	// with the open request. An answer is for the run that [workingCopy.routeAnswer] finds.
	sessionID, runID string
	// bounded says that the caller may reach the session without reaching all of its runs.
	bounded   bool
	approvals []ApprovalDecision
	// approvalsAt is the JSON pointer of the approvals in the request body; empty when the call
	// accepts none. Only if it is set is an empty batch an error.
	approvalsAt string
	answers     []QuestionAnswer
	// answersAt is the JSON pointer of the list of answers, or of the single answer with
	// oneAnswer.
	answersAt string
	oneAnswer bool
	// partial stores answers to some questions of a request; see AnswerQuestion.Partial.
	partial bool
	cancel  *cancellation

	operation model.Operation
	key       string
	canonical []byte
	actor     Actor
	// checked holds the results of CheckValues, computed before the lock.
	checked *checkedValues
}

// cancellation cancels a run by one of its open requests.
type cancellation struct {
	requestID string
	// why is the caller's text. ofQuestion determines where it is recorded.
	why string
	// ofQuestion accepts only questions, and records why as the person's justification. Otherwise
	// why is the reason in the resolution and in the cancelled event.
	ofQuestion     bool
	runtimePayload api.JSON
}

func (r *resolution) needs() Needs {
	ids := validIDs(r.namedRequestIDs()...)
	needs := Needs{
		SessionID: r.sessionID, RunID: r.runID, RequestIDs: ids, MayResume: r.runID != "" && r.cancel == nil,
		ChangesRules: r.cancel == nil && remembersDeny(r.approvals),
		CountRules:   r.cancel == nil && slices.ContainsFunc(r.approvals, func(given ApprovalDecision) bool { return given.Remember != "" }),
		Record:       recordKey(r.operation, "", r.key),
	}
	if r.runID == "" {
		needs.SessionRequestIDs, needs.SessionRequestKind, needs.SessionRequestRuns = ids, model.KindApproval, r.bounded
		if len(r.answers) > 0 {
			needs.SessionRequestKind, needs.Clarifications = model.KindQuestion, true
		}
	}
	return needs
}

// decide settles every request that the call names, or none.
func (r *resolution) decide(w *workingCopy) (Reply, error) {
	w.brought = r.checked.brought
	if err := w.checkTarget(r.sessionID, r.runID); err != nil {
		return Reply{}, err
	}
	key := recordKey(r.operation, w.state.SessionID, r.key)
	if reply, done, err := w.findRecord(key, r.runID, r.canonical, r.checked.keyed); done {
		switch run := w.state.Runs[reply.ReplayRunID]; {
		case run != nil && !w.reaches(run):
			return Reply{}, refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was used for another run")
		case err == nil && r.runID == "":
			// Only a loaded run shows whether the key was used for an earlier run with its id.
			return Reply{}, &onCallError{reply.ReplayRunID}
		}
		return reply, err
	}
	run, err := r.route(w)
	if err != nil {
		return Reply{}, r.addRecorded(w, nil, err)
	}
	existing, err := r.settle(w, run)
	if err != nil {
		return Reply{}, r.addRecorded(w, run, err)
	}
	if key != nil && !existing {
		w.writeRecord(*key, fingerprint(r.operation, run.RunID, r.recorded()), run.RunID)
	}
	return Reply{Run: w.recordOf(run), Existing: existing}, nil
}

// recorded returns the body that the call's fingerprint covers. It is the keyed form if the call
// decided a sensitive request.
func (r *resolution) recorded() []byte {
	if len(r.checked.decisions) > 0 {
		return r.checked.keyed
	}
	return r.canonical
}

// route returns the call's run, after expiring its overdue requests. On a session route, runs outside
// of the caller's scope are treated as missing.
func (r *resolution) route(w *workingCopy) (*model.Run, error) {
	switch {
	case r.runID != "":
		return w.targetRun(r.runID)
	case len(r.answers) > 0:
		return w.routeAnswer(r.sessionID, r.answers[0].RequestID)
	}
	active := w.reachedRun()
	if active != nil {
		w.expireDue(active)
	}
	for i := range r.approvals {
		id := r.approvals[i].RequestID
		if active != nil {
			if ofActive := w.request(active.RunID, id); ofActive != nil && ofActive.Open() {
				continue
			}
		}
		if err := w.openOnCall(id, model.KindApproval); err != nil {
			return nil, err
		}
	}
	if late := r.lateApproval(w, active); late != nil {
		return nil, &onCallError{late.RunID}
	}
	if active == nil {
		return nil, refusal.New(api.CodeRunStateConflict, "session %s has no active run", r.sessionID)
	}
	return active, nil
}

// lateApproval returns the first settled approval that the call names, if it belongs to another run
// of the session than the active one, which may be nil. It returns nil if the active run has it.
func (r *resolution) lateApproval(w *workingCopy, active *model.Run) *model.Request {
	for i := range r.approvals {
		id := r.approvals[i].RequestID
		if active != nil {
			if ofActive := w.request(active.RunID, id); ofActive != nil {
				if ofActive.Open() {
					continue
				}
				return nil
			}
		}
		if request := w.newestReached(id, model.KindApproval); request != nil && !request.Open() {
			return request
		}
	}
	return nil
}

// settle checks approvals before answers, and records only after all checks passed. existing
// says that the same answer to a clarification was already recorded.
func (r *resolution) settle(w *workingCopy, run *model.Run) (existing bool, err error) {
	switch {
	case r.cancel != nil:
		return false, r.cancelRun(w, run)
	case r.approvalsAt == "" && len(r.answers) == 0:
		return false, refusal.New(api.CodeApprovalBatchEmpty, "approval resolution batch must not be empty")
	}
	if r.approvalsAt != "" {
		if err := w.checkApprovals(run, r.approvals, r.approvalsAt, r.checked); err != nil {
			return false, err
		}
		if err := r.checkRequesters(w, run); err != nil {
			return false, err
		}
	}
	asked, existing, err := r.askedQuestions(w, run)
	if err != nil || existing {
		return existing, err
	}
	if r.partial {
		if kept, err := r.keepPart(w, run, asked[0]); kept || err != nil {
			return false, err
		}
	}
	resolutions, err := r.checkAnswers(run, asked)
	if err != nil {
		return false, err
	}
	if len(r.approvals) > 0 {
		w.recordApprovals(run, r.approvals, r.checked, r.actor)
	}
	for i, request := range asked {
		if sealed := r.checked.decisions[request.Handle]; sealed != nil {
			w.editRequest(request).Sealed = sealed.sealed
		}
		w.recordAnswer(run, w.request(run.RunID, request.RequestID), resolutions[i], r.actor)
	}
	if run.Kind != api.KindParentClarification {
		w.updateWaiting(run)
	}
	return false, nil
}

// askedQuestions returns the open questions that the answers are for, in the order of the
// answers.
func (r *resolution) askedQuestions(w *workingCopy, run *model.Run) (asked []*model.Request, existing bool, err error) {
	for i := range r.answers {
		request, existing, err := w.answeredQuestion(run, r.answers[i])
		if err != nil || existing {
			return nil, existing, err
		}
		asked = append(asked, request)
	}
	return asked, false, nil
}

// keepPart stores a partial answer while other questions of its request are unanswered. For the
// last question it completes the answer and returns kept as false.
func (r *resolution) keepPart(w *workingCopy, run *model.Run, request *model.Request) (kept bool, err error) {
	question, given := request.Question(), &r.answers[0]
	if !given.inParts(question) {
		return false, nil
	}
	answers, err := checkPart(question, *given, r.answersAt)
	if err != nil {
		return false, err
	}
	if len(answers) < len(question.Questions) {
		kept := *given
		secret, err := r.secretAnswer(run, request, &question, given)
		if err != nil {
			return false, err
		}
		if err := checkPartBytes(&question, answers, secret, r.answersAt); err != nil {
			return false, err
		}
		if secret != nil {
			kept.Answers, answers = model.MaskAnswers(&question, given.Answers), model.MaskAnswers(&question, answers)
			w.editRequest(request).Sealed = secret.sealed
		}
		w.keepPartialAnswer(run, request, kept, answers, r.actor)
		return true, nil
	}
	given.Answers = answers
	return false, nil
}

// checkAnswers returns the resolution to record for each answer. It returns the first invalid
// answer's error, and otherwise the schema faults of all values together.
func (r *resolution) checkAnswers(run *model.Run, asked []*model.Request) ([]api.Resolution, error) {
	var resolutions []api.Resolution
	var faults []api.Fault
	for i, request := range asked {
		question := request.Question()
		secret, err := r.secretAnswer(run, request, &question, &r.answers[i])
		if err != nil {
			return nil, err
		}
		resolution, err := checkAnswer(question, r.answers[i], r.answerAt(i), r.checked.verdicts.matcher(request.Handle))
		if secret != nil {
			resolution = maskAnswer(&question, resolution)
		}
		if refused, ok := errors.AsType[*refusal.Error](err); ok && refused.Code == api.CodeInvalidRequest {
			faults = append(faults, refused.Faults...)
		} else if err != nil && faults == nil {
			return nil, err
		}
		resolutions = append(resolutions, resolution)
	}
	if faults != nil {
		return nil, refusal.Invalid(faults...)
	}
	return resolutions, nil
}

// answerAt returns the JSON pointer of an answer in the request body.
func (r *resolution) answerAt(i int) string {
	if r.oneAnswer {
		return r.answersAt
	}
	return fmt.Sprintf("%s/%d", r.answersAt, i)
}

// cancelRun cancels the run by one of its open requests. A parent clarification completes with
// a declined answer instead.
func (r *resolution) cancelRun(w *workingCopy, run *model.Run) error {
	request, what, err := r.cancelledRequest(w, run)
	if err != nil {
		return err
	}
	if r.cancel.runtimePayload != nil && request.Kind == model.KindQuestion {
		if question := request.Question(); model.Sensitive(&question) {
			r.cancel.runtimePayload = model.Masked
		}
	}
	why := r.cancel.why
	if run.Kind == api.KindParentClarification {
		declined := declinedResolution(api.OutcomeCancelled, cmp.Or(why, cancelledByOperator), "cancelled", r.actor)
		declined.RuntimePayload = r.cancel.runtimePayload
		w.completeClarification(run, request, declined)
		return nil
	}
	recorded := api.Resolution{
		Outcome: api.OutcomeCancelled, RuntimePayload: r.cancel.runtimePayload,
		ResolvedBy: r.actor.Name, ViaPrincipal: r.actor.ViaPrincipal, Via: r.actor.Via,
	}
	reason := ""
	if r.cancel.ofQuestion {
		recorded.Justification = why
	} else {
		recorded.Reason, reason = why, why
	}
	w.settleRequests(run, []*model.Request{request}, recorded)
	w.cancelRun(run, cancelledRequestText(what, request.RequestID, why), r.actor, reason)
	return nil
}

// cancelledRequest returns the open request by which the run is cancelled, and its name for
// texts. For an unknown request id, the error depends on the kind of request that the run waits
// for.
func (r *resolution) cancelledRequest(w *workingCopy, run *model.Run) (request *model.Request, what string, err error) {
	id := r.cancel.requestID
	request = w.request(run.RunID, id)
	approval := request != nil && request.Kind == model.KindApproval
	if request == nil {
		approval = w.waitsFor(run.RunID, model.KindApproval) && !w.waitsFor(run.RunID, model.KindQuestion)
	}
	if !approval || r.cancel.ofQuestion {
		request, err = w.openQuestion(run, id, "cancel")
		return request, questionText, err
	}
	given := []ApprovalDecision{{RequestID: id, Behavior: api.BehaviorDeny}}
	return request, approvalText, w.checkApprovals(run, given, "", &checkedValues{})
}

// addRecorded adds a recorded decision to an error that shows one and has none: the decision of
// the first settled request that the call names, approvals before answers
// (docs/spec/v1.md#recorded-decision).
func (r *resolution) addRecorded(w *workingCopy, run *model.Run, err error) error {
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Recorded != nil || !r.showsRecorded(refused.Code) {
		return err
	}
	if run != nil {
		for _, id := range r.namedRequestIDs() {
			if request := w.request(run.RunID, id); request != nil && !request.Open() {
				return refused.With(request.RecordedDecision())
			}
		}
	}
	return err
}

// showsRecorded reports whether an error with that code shows the recorded decision of any
// request that the call names. A call about one question never does: its errors show the
// decision for that question.
func (r *resolution) showsRecorded(code api.Code) bool {
	switch code {
	case api.CodeRunStateConflict, api.CodeApprovalStateConflict, api.CodeApprovalNotPending:
		return r.operation == model.OperationApproval || r.operation == model.OperationDecision
	case api.CodeQuestionStateConflict, api.CodeQuestionExpired,
		api.CodeQuestionRequestMismatch, api.CodeQuestionResolutionConflict:
		return r.operation == model.OperationDecision
	}
	return false
}

// namedRequestIDs returns the ids of the requests that the call names.
func (r *resolution) namedRequestIDs() []string {
	if r.cancel != nil {
		return []string{r.cancel.requestID}
	}
	ids := make([]string, 0, len(r.approvals)+len(r.answers))
	for i := range r.approvals {
		ids = append(ids, r.approvals[i].RequestID)
	}
	for i := range r.answers {
		ids = append(ids, r.answers[i].RequestID)
	}
	return ids
}
