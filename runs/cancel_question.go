package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CancelQuestion cancels an open question and with it the run. A parent clarification
// completes with a declined answer.
//
// Reply: Run, or Replayed. Errors, in the order of kheish.md 1.8.
type CancelQuestion struct {
	RunID         string
	RequestID     string
	Justification string
	Key           string
	Actor         Actor

	canonical []byte
}

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
func (c *CancelQuestion) decide(w *workingCopy) (Reply, error) {
	run := w.run(c.RunID)
	if run == nil {
		return Reply{}, refusal.UnknownRun(c.RunID)
	}
	key := recordKey(model.OperationQuestionCancel, w.state.SessionID, c.Key)
	if reply, done, err := w.findRecord(key, c.RunID, c.canonical); done {
		return reply, err
	}
	w.expireDue(run)
	request, err := w.openQuestion(run, c.RequestID, "cancel")
	if err != nil {
		return Reply{}, err
	}
	if run.Kind == api.KindParentClarification {
		w.completeClarification(run, request, declinedResolution(api.OutcomeCancelled, cmp.Or(c.Justification, cancelledByOperator), "cancelled", c.Actor))
	} else {
		recorded := w.settleRequest(run, request, api.Resolution{
			Outcome: api.OutcomeCancelled, Justification: c.Justification, ResolvedBy: c.Actor.Name, Via: c.Actor.Via,
		})
		w.emit(run, api.EventUserQuestionResolved, questionResolvedEvent{api.EventUserQuestionResolved, recorded})
		w.cancelRun(run, cancelledText(request.RequestID, c.Justification), c.Actor, "")
	}
	if key != nil {
		w.writeRecord(*key, fingerprint(model.OperationQuestionCancel, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}
