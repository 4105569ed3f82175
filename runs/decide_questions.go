package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// answerBody and cancelBody are what identify keyed calls about questions.
type (
	answerBody struct {
		Resolution QuestionAnswer `json:"resolution"`
	}
	cancelBody struct {
		RequestID     string `json:"request_id"`
		Justification string `json:"justification,omitempty"`
	}
)

// Needs implements Command.
func (c *AnswerQuestion) Needs() Needs {
	ids := validIDs(c.Resolution.RequestID)
	needs := Needs{SessionID: c.SessionID, RunID: c.RunID, RequestIDs: ids}
	if c.RunID == "" {
		needs.SessionRequestIDs = ids
		needs.Clarifications = true
	}
	needs.Record = recordKey(model.OperationQuestion, "", c.Key)
	return needs
}

func (c *AnswerQuestion) prepare(IDSource) error {
	c.Actor.prepare()
	c.Resolution.prepare()
	var faults refusal.Faults
	c.Resolution.check("/resolution", &faults)
	if c.Partial && c.Key != "" {
		faults.Add("/idempotency_key", "must not be given with a part of an answer")
	}
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.canonical, err = canonicalBody(answerBody{c.Resolution})
	return err
}

// decide checks in the order of kheish.md 1.6 and decisions.md 30.
func (c *AnswerQuestion) decide(w *work) (Reply, error) {
	if err := w.checkTarget(c.SessionID, c.RunID); err != nil {
		return Reply{}, err
	}
	key := recordKey(model.OperationQuestion, w.state.SessionID, c.Key)
	if reply, done, err := w.lookUp(key, c.RunID, c.canonical); done {
		return reply, err
	}
	run, err := c.route(w)
	if err != nil {
		return Reply{}, err
	}
	request, done, err := w.question(run, c.Resolution)
	if err != nil {
		return Reply{}, err
	}
	if done {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	question, given := request.Question(), c.Resolution
	if c.Partial && given.inParts(question) {
		answers, err := checkPart(question, given, "/resolution")
		if err != nil {
			return Reply{}, err
		}
		if len(answers) < len(question.Questions) {
			w.keepPart(run, request, given, answers, c.Actor)
			return Reply{Run: w.recordOf(run)}, nil
		}
		given.Answers = answers
	}
	resolution, err := checkAnswer(question, given, "/resolution")
	if err != nil {
		return Reply{}, err
	}
	w.answer(run, request, resolution, c.Actor)
	if run.Kind != api.KindParentClarification {
		w.waitOrGoOn(run)
	}
	if key != nil {
		w.record(*key, fingerprint(model.OperationQuestion, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}

// answer records an answer that has been checked, and reports it. A clarification is
// over with it; any other run goes on with waitOrGoOn.
func (w *work) answer(run *model.Run, request *model.Request, resolution api.Resolution, actor Actor) {
	resolution.ResolvedBy, resolution.Via = actor.Name, actor.Via
	if run.Kind == api.KindParentClarification {
		w.conclude(run, request, resolution)
		return
	}
	recorded := w.settle(run, request, resolution)
	w.emit(run, api.EventUserQuestionResolved, questionResolvedEvent{api.EventUserQuestionResolved, recorded})
}

// question returns the open question that is answered. done means that it is a
// clarification to which the very same answer was recorded before.
func (w *work) question(run *model.Run, given QuestionAnswer) (request *model.Request, done bool, err error) {
	if run.Kind == api.KindParentClarification {
		return w.openClarification(run, given)
	}
	request, err = w.openQuestion(run, given.RequestID, "resolution")
	return request, false, err
}

// route finds the run that an answer is for: the one of the call; or the session's
// active run when that question is open on it; or the session's clarification with
// that request id; or else the active run, when it waits for another answer.
func (c *AnswerQuestion) route(w *work) (*model.Run, error) {
	if c.RunID != "" {
		return w.targetRun(c.RunID)
	}
	active := w.activeRun()
	if active != nil {
		w.expireDue(active)
		if request := w.request(active.RunID, c.Resolution.RequestID); request != nil && request.Kind == model.KindQuestion && request.Open() {
			return active, nil
		}
	}
	if run := w.clarificationAsking(c.Resolution.RequestID); run != nil {
		return run, nil
	}
	request := w.newestInSession(c.Resolution.RequestID, model.KindQuestion)
	if request != nil {
		if run := w.run(request.RunID); run != nil && run.Kind == api.KindParentClarification {
			return run, nil // over: a retry of its answer succeeds, whatever else waits
		}
	}
	if active != nil && w.waitsFor(active.RunID, model.KindQuestion) {
		return active, nil
	}
	switch {
	case request != nil:
		return nil, settledQuestionError(request)
	case w.activeRun() == nil:
		return nil, refusal.New(api.CodeRunStateConflict, "session %s has no active run", c.SessionID)
	default:
		return nil, refusal.New(api.CodeRunStateConflict, "session %s has no run that waits for an answer", c.SessionID)
	}
}

// clarificationAsking returns the session's clarification that waits the longest
// with a request of that id, or nil.
func (w *work) clarificationAsking(requestID string) *model.Run {
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
func (w *work) newestInSession(requestID string, kind model.RequestKind) *model.Request {
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
func (w *work) openQuestion(run *model.Run, requestID, verb string) (*model.Request, error) {
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

// settledQuestionError tells a late caller what became of the question.
func settledQuestionError(request *model.Request) *refusal.Error {
	recorded := request.RecordedDecision()
	if request.Outcome == api.OutcomeExpired && recorded.Via == api.ViaClock {
		dueAtMs := request.Question().ExpiresAtMs
		return refusal.New(api.CodeQuestionExpired, "%s", expiredText(request.RequestID, *dueAtMs)).With(recorded)
	}
	if request.Outcome == api.OutcomeExpired {
		return refusal.New(api.CodeQuestionExpired, "user-question request %s expired when its run ended", request.RequestID).With(recorded)
	}
	if request.Outcome == api.OutcomeCancelled {
		resolution := request.Recorded()
		why := cmp.Or(resolution.Justification, resolution.Reason)
		return refusal.New(api.CodeQuestionStateConflict, "%s", cancelledText(request.RequestID, why)).With(recorded)
	}
	return refusal.New(api.CodeQuestionStateConflict, "run %s is not waiting for user input: request %s was %s", request.RunID, request.RequestID, request.Outcome).With(recorded)
}

// What a request is called in the error of a run that was cancelled by it.
const (
	questionText = "user-question request"
	approvalText = "approval request"
)

func cancelledText(requestID, why string) string {
	return cancelledRequestText(questionText, requestID, why)
}

func cancelledRequestText(what, requestID, why string) string {
	text := what + " " + requestID + " cancelled"
	if why != "" {
		text += ": " + why
	}
	return text
}

// Needs implements Command.
func (c *CancelQuestion) Needs() Needs {
	return Needs{
		RunID: c.RunID, RequestIDs: validIDs(c.RequestID),
		Record: recordKey(model.OperationQuestionCancel, "", c.Key),
	}
}

func (c *CancelQuestion) prepare(IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	faults.Text("/justification", c.Justification, api.MaxTextLength)
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.canonical, err = canonicalBody(cancelBody{c.RequestID, c.Justification})
	return err
}

// decide checks in the order of kheish.md 1.8.
func (c *CancelQuestion) decide(w *work) (Reply, error) {
	run := w.run(c.RunID)
	if run == nil {
		return Reply{}, refusal.UnknownRun(c.RunID)
	}
	key := recordKey(model.OperationQuestionCancel, w.state.SessionID, c.Key)
	if reply, done, err := w.lookUp(key, c.RunID, c.canonical); done {
		return reply, err
	}
	w.expireDue(run)
	request, err := w.openQuestion(run, c.RequestID, "cancel")
	if err != nil {
		return Reply{}, err
	}
	if run.Kind == api.KindParentClarification {
		w.conclude(run, request, declinedBy(api.OutcomeCancelled, cmp.Or(c.Justification, cancelledByOperator), "cancelled", c.Actor))
	} else {
		recorded := w.settle(run, request, api.Resolution{
			Outcome: api.OutcomeCancelled, Justification: c.Justification, ResolvedBy: c.Actor.Name, Via: c.Actor.Via,
		})
		w.emit(run, api.EventUserQuestionResolved, questionResolvedEvent{api.EventUserQuestionResolved, recorded})
		w.cancel(run, cancelledText(request.RequestID, c.Justification), c.Actor, "")
	}
	if key != nil {
		w.record(*key, fingerprint(model.OperationQuestionCancel, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}
