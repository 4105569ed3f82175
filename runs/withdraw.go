package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Withdraw cancels an open request that its worker no longer needs; the run continues
// (docs/spec/v1.md#withdraw).
//
// Reply: Run; Existing when the worker already withdrew it. Errors: invalid_request;
// run_not_found; lease_lost; request_not_found; approval_state_conflict, question_state_conflict or, when the
// run is completed or failed, run_state_conflict, with the recorded decision when the request is settled
// otherwise.
type Withdraw struct {
	RunID     string
	RequestID string
	Fence     int64
	Reason    string
}

// Spec implements Command.
func (c *Withdraw) Spec() Spec {
	return Spec{
		Name: "Withdraw", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence}, Settles: true, size: oneRow,
	}
}

// Needs implements Command.
func (c *Withdraw) Needs() Needs {
	return Needs{RunID: c.RunID, RequestIDs: validIDs(c.RequestID)}
}

func (c *Withdraw) prepare(*Call, IDSource) error {
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *Withdraw) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	err = w.checkHolder(run, c.Fence)
	over := refusal.CodeOf(err) == api.CodeRunStateConflict // completed or failed by this worker
	if err != nil && !over {
		return Reply{}, err
	}
	request := w.request(run.RunID, c.RequestID)
	if request == nil {
		return Reply{}, cmp.Or(err, error(refusal.New(api.CodeRequestNotFound, "unknown request %s of run %s", c.RequestID, run.RunID)))
	}
	if !request.Open() {
		recorded := request.RecordedDecision()
		if recorded.Via == api.ViaWorker {
			return Reply{Run: w.recordOf(run), Existing: true}, nil
		}
		code := api.CodeApprovalStateConflict
		switch {
		case over:
			code = api.CodeRunStateConflict
		case request.Kind != model.KindApproval:
			code = api.CodeQuestionStateConflict
		}
		return Reply{}, refusal.New(code, "request %s was already %s", c.RequestID, request.Outcome).With(recorded)
	}
	w.settleRequests(run, []*model.Request{request}, api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: c.Reason, ResolvedBy: run.WorkerID, Via: api.ViaWorker,
	})
	w.updateWaiting(run)
	return Reply{Run: w.recordOf(run)}, nil
}
