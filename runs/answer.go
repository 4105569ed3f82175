package runs

import (
	"cmp"

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
	verdicts  valueVerdicts
}

// answerBody identifies a keyed call.
type answerBody struct {
	Resolution QuestionAnswer `json:"resolution"`
}

func (c *AnswerQuestion) resolution() *resolution {
	return &resolution{
		sessionID: c.SessionID, runID: c.RunID,
		answers: []QuestionAnswer{c.Resolution}, answersAt: "/resolution", oneAnswer: true, partial: c.Partial,
		operation: model.OperationQuestion, key: c.Key, canonical: c.canonical, actor: c.Actor, verdicts: c.verdicts,
	}
}

// Needs implements Command.
func (c *AnswerQuestion) Needs() Needs { return c.resolution().needs() }

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

func (c *AnswerQuestion) decide(w *workingCopy) (Reply, error) { return c.resolution().decide(w) }

func (c *AnswerQuestion) setVerdicts(verdicts valueVerdicts) { c.verdicts = verdicts }
