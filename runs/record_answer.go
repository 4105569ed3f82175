package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// answeredQuestion returns the open question that an answer is for. done says that it is a
// clarification that already has the same answer.
func (w *workingCopy) answeredQuestion(run *model.Run, given QuestionAnswer) (request *model.Request, done bool, err error) {
	if run.Kind == api.KindParentClarification {
		return w.openClarification(run, given)
	}
	request, err = w.openQuestion(run, given.RequestID, "resolution")
	return request, false, err
}

// openQuestion returns an open question of a run, or the error of
// docs/spec/v1.md#order-for-questions, step 4. The caller has expired overdue requests of the
// run. The error uses verb to name the call.
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

// openClarification returns the open question of a clarification, or the error of
// docs/spec/v1.md#answer-a-clarification. done says that the same answer was already recorded.
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
		// The run never had a request with that id. The error shows the decision for its one request.
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

// sameAnswer reports whether an answer equals the recorded one
// (docs/spec/v1.md#answer-a-clarification). The order of arrays and the justification count;
// members that only the API layers add do not.
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

// recordAnswer records a checked answer and its event. A clarification completes with it; for
// any other run call updateWaiting afterwards.
func (w *workingCopy) recordAnswer(run *model.Run, request *model.Request, resolution api.Resolution, actor Actor) {
	resolution.ResolvedBy, resolution.ViaPrincipal, resolution.Via = actor.Name, actor.ViaPrincipal, actor.Via
	if run.Kind == api.KindParentClarification {
		w.completeClarification(run, request, resolution)
		return
	}
	_, value := w.settleRequest(run, request, resolution)
	w.emitAnswered(run, value)
}

// keepPartialAnswer stores checked answers to some questions of a request, which stays open.
// answers has all stored answers, given only the new ones.
func (w *workingCopy) keepPartialAnswer(run *model.Run, request *model.Request, given QuestionAnswer, answers []api.UserQuestionAnswer, actor Actor) {
	ids := make([]string, len(given.Answers))
	for i := range given.Answers {
		ids[i] = given.Answers[i].QuestionID
	}
	w.editRequest(request).PartialAnswers = document.Encode(answers)
	w.emit(run, api.EventUserQuestionAnswered, questionAnsweredEvent{
		Type: api.EventUserQuestionAnswered, RequestID: request.RequestID, QuestionIDs: ids, Answers: given.Answers,
		Justification: given.Justification, ResolvedBy: actor.Name, ViaPrincipal: actor.ViaPrincipal, Via: actor.Via,
		Open: len(request.Question().Questions) - len(answers),
	})
	w.saveRun(run)
}

// clarificationAsking returns the session's oldest waiting clarification with an open request
// of that id, or nil.
func (w *workingCopy) clarificationAsking(requestID string) *model.Run {
	for _, run := range w.unfinished() {
		if run.Kind != api.KindParentClarification || !w.reaches(run) {
			continue
		}
		w.expireDue(run)
		if request := w.request(run.RunID, requestID); request != nil && request.Open() {
			return run
		}
	}
	return nil
}

// newestReached is newestOf without the requests of runs outside of the caller's scope.
func (w *workingCopy) newestReached(requestID string, kind model.RequestKind) *model.Request {
	return w.newestOf(requestID, kind, w.reaches)
}

// newestOf returns the session's newest request with that id and kind, without the requests of loaded runs
// that do not count, or nil.
func (w *workingCopy) newestOf(requestID string, kind model.RequestKind, counts func(*model.Run) bool) *model.Request {
	var newest *model.Request
	for key, row := range w.state.Requests {
		// A batch may have loaded a run of another session, because a caller chose its id for a new
		// run in this one.
		if key.RequestID != requestID || row.SessionID != w.state.SessionID {
			continue
		}
		request := w.request(key.RunID, key.RequestID)
		if run := w.run(key.RunID); request.Kind != kind || run != nil && !counts(run) {
			continue
		}
		if newest == nil || request.CreatedAtMs > newest.CreatedAtMs ||
			request.CreatedAtMs == newest.CreatedAtMs && request.RunID > newest.RunID {
			newest = request
		}
	}
	return newest
}

// routeAnswer returns the run that an answer on a session route is for, or an error
// (docs/spec/v1.md#session-routes).
func (w *workingCopy) routeAnswer(sessionID, requestID string) (*model.Run, error) {
	active := w.reachedRun()
	if active != nil {
		w.expireDue(active)
		if request := w.request(active.RunID, requestID); request != nil && request.Kind == model.KindQuestion && request.Open() {
			return active, nil
		}
	}
	if run := w.clarificationAsking(requestID); run != nil {
		return run, nil
	}
	if err := w.openOnCall(requestID, model.KindQuestion); err != nil {
		return nil, err
	}
	request := w.newestReached(requestID, model.KindQuestion)
	if request != nil {
		if run := w.run(request.RunID); run != nil && run.Kind == api.KindParentClarification {
			return run, nil // The clarification is completed. The same answer is accepted again, whatever else is open.
		}
	}
	late := request != nil && (active == nil || request.RunID != active.RunID)
	if !late && active != nil && w.waitsFor(active.RunID, model.KindQuestion) {
		return active, nil
	}
	switch {
	case request != nil:
		return nil, settledQuestionError(request)
	case w.reachedRun() == nil:
		return nil, refusal.New(api.CodeRunStateConflict, "session %s has no active run", sessionID)
	default:
		return nil, refusal.New(api.CodeRunStateConflict, "session %s has no run that waits for an answer", sessionID)
	}
}

// onCallError says that a call on a session route names a request of another run than the active
// one: an open request of a run that takes no slot, or a settled approval; or that its key was used for a run.
// That run's rows may not be loaded.
type onCallError struct{ runID string }

func (e *onCallError) Error() string { return "the request is of run " + e.runID }

// openOnCall returns an onCallError if an open request with that id belongs to one of the session's
// calls within the caller's scope. The command is then decided again.
func (w *workingCopy) openOnCall(requestID string, kind model.RequestKind) error {
	for key, row := range w.state.Requests {
		if key.RequestID != requestID || row.SessionID != w.state.SessionID || w.session != nil && key.RunID == w.session.ActiveRunID {
			continue
		}
		request := w.request(key.RunID, key.RequestID)
		if request.Kind != kind || !request.Open() {
			continue
		}
		// The run of such a request is loaded for callers that may not reach it.
		if run := w.run(key.RunID); run == nil || run.Kind == api.KindCall && w.reaches(run) {
			return &onCallError{key.RunID}
		}
	}
	return nil
}
