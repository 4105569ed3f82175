package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Release gives a run back unfinished: it is claimable at once, and the attempt does not count.
// An attached worker detaches its waiting run with it (docs/spec/v1.md#attached-waiting).
//
// Reply: Run; Existing when the same call with this fence released it before, whoever has claimed
// it since. Errors: run_not_found; lease_lost; run_state_conflict when the run was completed or
// failed.
type Release struct {
	RunID      string
	Fence      int64
	Checkpoint api.JSON
	// SettledAfter is as in api.Suspension.
	SettledAfter *int64

	canonical []byte
}

// Needs implements Command.
func (c *Release) Needs() Needs { return Needs{RunID: c.RunID, Record: c.recordKey("")} }

func (c *Release) prepare(IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	body := map[string]any{"checkpoint": c.Checkpoint}
	if c.SettledAfter != nil {
		body["settled_after"] = *c.SettledAfter
		if *c.SettledAfter < 0 {
			return refusal.Invalid(api.Fault{Pointer: "/settled_after", Detail: "must not be negative"})
		}
	}
	var err error
	c.canonical, err = document.Canonical(body)
	return err
}

// recordKey returns the key under which a release is remembered, which no caller can choose: the
// same release is recognised also when somebody else has claimed the run since.
func (c *Release) recordKey(sessionID string) *model.RecordKey {
	return recordKey(model.OperationRelease, sessionID, fmt.Sprintf("%s/%d", c.RunID, c.Fence))
}

func (c *Release) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	key := c.recordKey(run.SessionID)
	if _, done, err := w.findRecord(key, run.RunID, c.canonical, nil); done && err == nil {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	if c.Checkpoint != nil {
		w.storeCheckpoint(run, c.Checkpoint)
		if run.Attached {
			w.ackResolutions(run, c.SettledAfter)
		}
	}
	// A released claim is no attempt.
	run.Attempt = max(run.Attempt-1, 0)
	run.StalledAttempts = max(run.StalledAttempts-1, 0)
	w.endLease(run, model.LeaseReleased, "")
	w.writeRecord(*key, fingerprint(model.OperationRelease, run.RunID, c.canonical), run.RunID)
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = w.nowMs
	}
	return Reply{Run: w.recordOf(run)}, nil
}
