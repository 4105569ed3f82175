package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CancelRun cancels a run and its open requests (docs/spec/v1.md#cancel-a-run). A parent
// clarification completes with a declined answer instead.
//
// Reply: Run; Existing when the run was already terminal and is unchanged. Errors: run_not_found,
// invalid_request.
type CancelRun struct {
	RunID  string
	Reason string
	Actor  Actor
}

// Spec implements Command.
func (c *CancelRun) Spec() Spec {
	return Spec{Name: "CancelRun", Actions: cancels, Target: TargetNamed, Actor: c.Actor.Name, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *CancelRun) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *CancelRun) prepare(*Call, IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *CancelRun) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if model.Terminal(run.Status) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	actor := Actor{Name: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal, Via: api.ViaCancel}
	if run.Kind == api.KindParentClarification {
		for _, request := range w.openRequests(run.RunID) {
			w.completeClarification(run, request, declinedResolution(api.OutcomeCancelled, cmp.Or(c.Reason, cancelledByOperator), "cancelled", actor))
		}
		return Reply{Run: w.recordOf(run)}, nil
	}
	w.cancelRun(run, c.Reason, actor, c.Reason)
	return Reply{Run: w.recordOf(run)}, nil
}
