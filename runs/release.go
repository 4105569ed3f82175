package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Release gives a run back unfinished: it is claimable at once, and the attempt does not count.
// An attached worker detaches its waiting run with it (docs/spec/v1.md#attached-waiting).
//
// Reply: Run; Existing when the same call released it before. Errors: run_not_found;
// lease_lost; run_state_conflict when the run was completed or failed.
type Release struct {
	RunID      string
	Fence      int64
	Checkpoint api.JSON

	digest string
}

// Needs implements Command.
func (c *Release) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Release) prepare(IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	var err error
	c.digest, err = digestOf(map[string]any{"release": c.Checkpoint})
	return err
}

func (c *Release) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if w.sameCall(run, c.Fence, model.LeaseReleased, c.digest) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	if c.Checkpoint != nil {
		w.storeCheckpoint(run, c.Checkpoint)
		if run.Attached {
			w.ackResolutions(run, nil)
		}
	}
	// A released claim is no attempt.
	run.Attempt = max(run.Attempt-1, 0)
	run.StalledAttempts = max(run.StalledAttempts-1, 0)
	w.endLease(run, model.LeaseReleased, c.digest)
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = w.nowMs
	}
	return Reply{Run: w.recordOf(run)}, nil
}
