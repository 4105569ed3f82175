package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Heartbeat renews a lease from now on, and may store a checkpoint (docs/spec/v1.md#heartbeat).
// It even renews a lapsed lease, unless another worker has claimed the run.
//
// Reply: LeaseExpiresAtMs, and CancelRequested when the run was cancelled or interrupted.
// Errors: run_not_found; lease_lost; run_state_conflict when the run was completed or failed;
// invalid_request.
type Heartbeat struct {
	RunID        string
	Fence        int64
	LeaseMs      int64 // DefaultLeaseMs when 0
	Checkpoint   api.JSON
	SettledAfter *int64 // see api.Suspension
}

// Spec implements Command.
func (c *Heartbeat) Spec() Spec {
	return Spec{
		Name: "Heartbeat", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence},
		size: Size{Rows: 1, Bytes: len(c.Checkpoint)},
	}
}

// Needs implements Command.
func (c *Heartbeat) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Heartbeat) prepare(*Call, IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	var faults refusal.Faults
	faults.Lease("/lease_ms", c.LeaseMs)
	if c.SettledAfter != nil && *c.SettledAfter < 0 {
		faults.Add("/settled_after", "must not be negative")
	}
	return faults.Err()
}

func (c *Heartbeat) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	stopped := run.LeaseEnd == model.LeaseRevoked && (run.Status == api.StatusCancelled || run.Status == api.StatusInterrupted)
	if c.Fence != 0 && c.Fence == run.Fence && stopped {
		return Reply{CancelRequested: true, LeaseExpiresAtMs: run.FinishedAtMs}, nil
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	w.takeCheckpoint(run, c.Checkpoint, c.SettledAfter)
	w.extendLease(run, c.LeaseMs)
	return Reply{LeaseExpiresAtMs: run.LeaseExpiresAtMs}, nil
}
