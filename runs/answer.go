package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AnswerQuestion answers or declines one open question request of the run RunID. If RunID is
// empty, docs/spec/v1.md#session-routes finds the run in SessionID.
//
// Reply: Run, and Existing when the same answer to a clarification was already recorded; or
// Replayed. Errors: invalid_request, invalid_idempotency_key, and the errors in
// docs/spec/v1.md#order-for-questions, #order-for-answers and #answer-a-clarification, in that
// order.
type AnswerQuestion struct {
	SessionID  string
	RunID      string
	Resolution QuestionAnswer
	// Partial stores answers to some of the questions, and settles the request once every question
	// has an answer (docs/spec/v1.md#partial-answers). A second answer to the same question is
	// question_state_conflict. A partial answer takes no key. An answer to the whole request,
	// or a decline, replaces the stored parts.
	Partial bool
	Key     string
	Actor   Actor

	canonical []byte
	// bounded is as in resolution.
	bounded bool
	checkedValues
}

// answerBody is the body that a keyed answer's fingerprint covers.
type answerBody struct {
	Resolution QuestionAnswer `json:"resolution"`
}

func (c *AnswerQuestion) resolution() *resolution {
	return &resolution{
		sessionID: c.SessionID, runID: c.RunID, bounded: c.bounded,
		answers: []QuestionAnswer{c.Resolution}, answersAt: "/resolution", oneAnswer: true, partial: c.Partial,
		operation: model.OperationQuestion, key: c.Key, canonical: c.canonical, actor: c.Actor, checked: &c.checkedValues,
	}
}

// Spec implements Command.
func (c *AnswerQuestion) Spec() Spec {
	return Spec{
		Name: "AnswerQuestion", Actions: decides, Target: TargetNamed, Actor: c.Actor.Name, Settles: true,
		size: Size{}.withAnswers(c.Resolution), values: c.resolution(), checked: &c.checkedValues, above: &c.above, runID: &c.RunID,
	}
}

// Needs implements Command.
func (c *AnswerQuestion) Needs() Needs { return c.resolution().needs() }

func (c *AnswerQuestion) prepare(call *Call, _ IDSource) error {
	c.Actor.prepare()
	c.sealer, c.bounded = call.Sealer, call.bounded()
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
	c.prepareKeyed(c.canonical)
	return err
}

func (c *AnswerQuestion) decide(w *workingCopy) (Reply, error) { return c.resolution().decide(w) }
