package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// cancelledByOperator is the justification of a clarification that was cancelled
// without one (kheish.md 1.8).
const cancelledByOperator = "cancelled by operator"

// Needs implements Command.
func (c *CancelRun) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *CancelRun) prepare(IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *CancelRun) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if model.Terminal(run.Status) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	actor := Actor{Name: c.Actor.Name, Via: api.ViaCancel}
	if run.Kind == api.KindParentClarification {
		for _, request := range w.open(run.RunID) {
			w.conclude(run, request, declinedBy(api.OutcomeCancelled, cmp.Or(c.Reason, cancelledByOperator), "cancelled", actor))
		}
		return Reply{Run: w.recordOf(run)}, nil
	}
	w.cancel(run, c.Reason, actor, c.Reason)
	return Reply{Run: w.recordOf(run)}, nil
}

// Needs implements Command.
func (c *ExpireRequests) Needs() Needs {
	return Needs{SessionID: c.SessionID, RunID: c.RunID}
}

func (c *ExpireRequests) prepare(IDSource) error { return nil }

func (c *ExpireRequests) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Run: w.recordOf(run)}, nil
}
