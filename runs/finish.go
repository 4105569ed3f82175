package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Complete ends a run with its output (docs/spec/v1.md#complete-fail-release). Open requests are
// recorded expired.
//
// Reply: Run; Existing when the same call already ended the run. Errors: run_not_found,
// lease_lost, run_state_conflict.
type Complete struct {
	RunID  string
	Fence  int64
	Output api.JSON

	digest string
}

// Fail ends a run with an error. Open requests are recorded expired.
//
// Reply: Run; Existing when the same call already ended the run. Errors: run_not_found,
// lease_lost, run_state_conflict, invalid_request.
type Fail struct {
	RunID string
	Fence int64
	Error string

	digest string
}

// completeBody and failBody are the bodies that the calls' digests cover.
type (
	completeBody struct {
		Complete api.JSON `json:"complete"`
	}
	failBody struct {
		Fail string `json:"fail"`
	}
)

// Spec implements Command.
func (c *Complete) Spec() Spec {
	return Spec{
		Name: "Complete", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence}, Settles: true,
		size: Size{Rows: 1, NewRows: 1, Bytes: len(c.Output)},
	}
}

// Needs implements Command.
func (c *Complete) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Complete) prepare(*Call, IDSource) error {
	document.AbsentNull(&c.Output)
	var err error
	c.digest, err = digestOf(completeBody{c.Output})
	return err
}

func (c *Complete) decide(w *workingCopy) (Reply, error) {
	return w.finish(c.RunID, c.Fence, model.LeaseCompleted, c.digest, func(run *model.Run) {
		run.Output = c.Output
		w.finishRun(run, api.StatusCompleted, model.LeaseCompleted, api.EventCompleted, plainEvent{api.EventCompleted})
	})
}

// Spec implements Command.
func (c *Fail) Spec() Spec {
	return Spec{
		Name: "Fail", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence}, Settles: true,
		size: Size{Rows: 1, NewRows: 1, Bytes: len(c.Error)},
	}
}

// Needs implements Command.
func (c *Fail) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Fail) prepare(*Call, IDSource) error {
	var faults refusal.Faults
	faults.RequiredText("/error", c.Error, api.MaxTextLength)
	if err := faults.Err(); err != nil {
		return err
	}
	var err error
	c.digest, err = digestOf(failBody{c.Error})
	return err
}

func (c *Fail) decide(w *workingCopy) (Reply, error) {
	return w.finish(c.RunID, c.Fence, model.LeaseFailed, c.digest, func(run *model.Run) {
		run.Error = c.Error
		w.finishRun(run, api.StatusFailed, model.LeaseFailed, api.EventFailed, errorEvent{api.EventFailed, c.Error})
	})
}

// finish ends a run by a call of its holder. do records the outcome and ends the run.
func (w *workingCopy) finish(runID string, fence int64, end model.LeaseEnd, digest string, do func(*model.Run)) (Reply, error) {
	run, err := w.targetRun(runID)
	if err != nil {
		return Reply{}, err
	}
	if fence != 0 && fence == run.Fence && run.LeaseEnd == end && run.LastCallDigest == digest {
		// The call is repeated: the first one has ended the newest lease.
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.checkHolder(run, fence); err != nil {
		return Reply{}, err
	}
	w.expireOpenRequests(run)
	run.LastCallDigest = digest
	do(run)
	return Reply{Run: w.recordOf(run)}, nil
}
