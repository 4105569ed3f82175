package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Release returns an unfinished run: it is claimable at once, or after a delay. A LastError says
// that the handler failed and the run should be retried; otherwise the attempt does not count.
// An attached worker also detaches its waiting run (docs/spec/v1.md#attached-waiting).
//
// Reply: Run; Existing when the same call with this fence already released it, even if another
// worker has claimed it since. Errors: run_not_found; lease_lost; run_state_conflict when the run
// was completed or failed.
type Release struct {
	RunID      string
	Fence      int64
	Checkpoint api.JSON
	// SettledAfter is as in api.Suspension.
	SettledAfter *int64
	// LastError is the handler's error; empty if it did not fail.
	LastError string
	// Attempt is the number of failed attempts, including this one; nil adds one. If the number is
	// unchanged, the failure does not count.
	Attempt *int64
	// DelayMs is how long the run stays unclaimable; at most MaxLeaseMs.
	DelayMs int64

	canonical []byte
}

// settlingCheckpoint is the size up to which a checkpoint passes with its release, even if the disk or the
// caller's budget is exhausted. A worker must be able to say that nothing was started.
const settlingCheckpoint = 1 << 10

// maxFailedAttempts bounds [Release.Attempt].
const maxFailedAttempts = 1_000_000

// Spec implements Command.
func (c *Release) Spec() Spec {
	return Spec{
		Name: "Release", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence},
		Settles: len(c.Checkpoint) <= settlingCheckpoint,
		size:    Size{Rows: 1, NewRows: 1, Bytes: len(c.Checkpoint) + len(c.LastError)},
	}
}

// Needs implements Command.
func (c *Release) Needs() Needs { return Needs{RunID: c.RunID, Record: c.recordKey("")} }

func (c *Release) prepare(*Call, IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	var faults refusal.Faults
	body := map[string]any{"checkpoint": c.Checkpoint}
	if c.SettledAfter != nil {
		body["settled_after"] = *c.SettledAfter
		if *c.SettledAfter < 0 {
			faults.Add("/settled_after", "must not be negative")
		}
	}
	faults.Text("/last_error", c.LastError, api.MaxTextLength)
	if c.LastError != "" {
		body["last_error"] = c.LastError
	}
	if c.Attempt != nil {
		body["attempt"] = *c.Attempt
		switch {
		case *c.Attempt < 0 || *c.Attempt > maxFailedAttempts:
			faults.Add("/attempt", "must be between 0 and %d", maxFailedAttempts)
		case c.LastError == "":
			faults.Add("/attempt", "needs last_error")
		}
	}
	if c.DelayMs != 0 {
		body["delay_ms"] = c.DelayMs
		if c.DelayMs < 0 || c.DelayMs > api.MaxLeaseMs {
			faults.Add("/delay_ms", "must be between 0 and %d", api.MaxLeaseMs)
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	var err error
	c.canonical, err = document.Canonical(body)
	return err
}

// recordKey returns the key of the release's record. Callers cannot choose it. A repeated release is
// recognized even if another worker has claimed the run since.
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
	w.takeCheckpoint(run, c.Checkpoint, c.SettledAfter)
	stalled := false
	if c.LastError == "" {
		run.Attempt = max(run.Attempt-1, 0) // a released claim does not count as an attempt
	} else {
		failed := run.FailedAttempts + 1
		if c.Attempt != nil {
			failed = *c.Attempt
		}
		// The worker limits the failures that it counts. Other failures count as attempts without progress,
		// so that a failing handler is not called forever.
		stalled = failed <= run.FailedAttempts
		run.FailedAttempts, run.LastError = failed, c.LastError
	}
	if !stalled {
		run.StalledAttempts = max(run.StalledAttempts-1, 0)
	}
	w.endLease(run, model.LeaseReleased, "")
	// The record of an earlier run with the id, which is deleted, may still be there.
	if w.state.Records[*key] == nil {
		w.writeRecord(*key, fingerprint(model.OperationRelease, run.RunID, c.canonical), run.RunID)
	}
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = w.nowMs + c.DelayMs
	}
	return Reply{Run: w.recordOf(run)}, nil
}
