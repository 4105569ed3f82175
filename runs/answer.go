package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AnswerQuestion answers or declines one open question request. The run is RunID,
// or the one of SessionID that decisions.md 30 tells.
//
// Reply: Run, or Replayed. Errors, in the order of kheish.md 1.6.
type AnswerQuestion struct {
	SessionID  string
	RunID      string
	Resolution QuestionAnswer
	// Partial keeps answers to some of the questions until there is one to each, and
	// then answers the request with all of them. A question that has an answer takes no
	// other one so: that is question_state_conflict. Such a call takes no key. An answer
	// to the whole request, and a decline, go before what was kept.
	Partial bool
	Key     string
	Actor   Actor

	canonical []byte
}

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
func (c *AnswerQuestion) decide(w *workingCopy) (Reply, error) {
	if err := w.checkTarget(c.SessionID, c.RunID); err != nil {
		return Reply{}, err
	}
	key := recordKey(model.OperationQuestion, w.state.SessionID, c.Key)
	if reply, done, err := w.findRecord(key, c.RunID, c.canonical); done {
		return reply, err
	}
	run, err := c.route(w)
	if err != nil {
		return Reply{}, err
	}
	request, done, err := w.answeredQuestion(run, c.Resolution)
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
			w.keepPartialAnswer(run, request, given, answers, c.Actor)
			return Reply{Run: w.recordOf(run)}, nil
		}
		given.Answers = answers
	}
	resolution, err := checkAnswer(question, given, "/resolution")
	if err != nil {
		return Reply{}, err
	}
	w.recordAnswer(run, request, resolution, c.Actor)
	if run.Kind != api.KindParentClarification {
		w.updateWaiting(run)
	}
	if key != nil {
		w.writeRecord(*key, fingerprint(model.OperationQuestion, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}

// route finds the run that an answer is for: the one of the call; or the session's
// active run when that question is open on it; or the session's clarification with
// that request id; or else the active run, when it waits for another answer.
func (c *AnswerQuestion) route(w *workingCopy) (*model.Run, error) {
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
