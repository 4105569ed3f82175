package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CancelQuestion cancels an open question and its run (docs/spec/v1.md#cancel-a-question). A
// parent clarification completes with a declined answer instead.
//
// Reply: Run, or Replayed. Errors: invalid_request, invalid_idempotency_key, and the errors in
// docs/spec/v1.md#order-for-cancel, in that order.
type CancelQuestion struct {
	RunID         string
	RequestID     string
	Justification string
	Key           string
	Actor         Actor

	canonical []byte
}

func (c *CancelQuestion) resolution() *resolution {
	return &resolution{
		runID: c.RunID, cancel: &cancellation{requestID: c.RequestID, why: c.Justification, ofQuestion: true},
		operation: model.OperationQuestionCancel, key: c.Key, canonical: c.canonical, actor: c.Actor, checked: &checkedValues{},
	}
}

// Spec implements Command.
func (c *CancelQuestion) Spec() Spec {
	return Spec{
		Name: "CancelQuestion", Actions: cancels, Target: TargetNamed, Actor: c.Actor.Name, Settles: true, size: oneRow,
		values: c.resolution(),
	}
}

// Needs implements Command.
func (c *CancelQuestion) Needs() Needs { return c.resolution().needs() }

func (c *CancelQuestion) prepare(*Call, IDSource) error {
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

func (c *CancelQuestion) decide(w *workingCopy) (Reply, error) { return c.resolution().decide(w) }

// cancelBody is the body that a keyed cancel's fingerprint covers.
type cancelBody struct {
	RequestID     string `json:"request_id"`
	Justification string `json:"justification,omitempty"`
}
