package runs

import (
	"cmp"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Needs implements Command.
func (c *ClaimRun) Needs() Needs {
	return Needs{SessionID: c.SessionID, RunID: c.RunID, Payload: true, RunMessages: true}
}

func (c *ClaimRun) prepare(IDSource) error {
	var faults refusal.Faults
	faults.ID("/worker_id", c.WorkerID)
	faults.Lease("/lease_ms", c.LeaseMs)
	return faults.Err()
}

func (c *ClaimRun) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if run.ClaimableAtMs == 0 || run.ClaimableAtMs > w.nowMs {
		return Reply{}, refusal.New(api.CodeRunNotClaimable, "run %s is %s and cannot be claimed now", run.RunID, run.Status)
	}
	if most := cmp.Or(c.MaxAttempts, DefaultMaxAttempts); run.StalledAttempts >= most {
		w.abandon(run)
		run.Error = fmt.Sprintf("given up after %d attempts without progress", most)
		w.finish(run, api.StatusFailed, model.LeaseRevoked, api.EventFailed, errorEvent{api.EventFailed, run.Error})
		return Reply{}, refusal.New(api.CodeRunNotClaimable, "run %s was %s", run.RunID, run.Error)
	}
	if run.Status == api.StatusQueued {
		w.leaveQueue(run)
		w.start(run)
	}
	w.lease(run, c.WorkerID, c.LeaseMs)
	w.acknowledgeAnswers(run)
	record := w.recordOf(run)
	claim := record.ClaimOf()
	return Reply{Run: record, Claim: &claim}, nil
}

// lease hands a run that goes on to a worker under a new fence.
func (w *work) lease(run *model.Run, workerID string, leaseMs int64) {
	run.Fence++
	run.Attempt++
	run.StalledAttempts++
	run.WorkerID = workerID
	run.LeaseEnd = ""
	run.LastCallDigest = ""
	run.Attached = false
	w.extend(run, leaseMs)
}

// extend makes a lease run from now on. A run that goes on is claimable again
// when it lapses; one that waits is claimable only once it goes on.
func (w *work) extend(run *model.Run, leaseMs int64) {
	run.LeaseExpiresAtMs = w.nowMs + cmp.Or(leaseMs, api.DefaultLeaseMs)
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = run.LeaseExpiresAtMs
		run.Attempt = max(run.Attempt, 1)
	}
	w.saveRun(run)
}

// endLease ends a lease by an act of its holder.
func (w *work) endLease(run *model.Run, end model.LeaseEnd, digest string) {
	run.LeaseExpiresAtMs = 0
	run.LeaseEnd = end
	run.LastCallDigest = digest
	run.Attached = false
	w.saveRun(run)
}

// checkpoint stores a worker's checkpoint, which is progress.
func (w *work) checkpoint(run *model.Run, checkpoint api.JSON) {
	run.Checkpoint = checkpoint
	run.CheckpointSet = true
	run.StalledAttempts = 0
	w.saveRun(run)
}

// takeIn moves the start of the next Resume past the resolutions that a checkpoint
// has taken in: those up to settledAfter, or, when the worker does not say, all
// there are.
func (w *work) takeIn(run *model.Run, settledAfter *int64) {
	after := run.SettledCount
	if settledAfter != nil {
		after = min(*settledAfter, run.SettledCount)
	}
	run.ResumeAfter = max(run.ResumeAfter, after)
}

// Needs implements Command.
func (c *Heartbeat) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Heartbeat) prepare(IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	var faults refusal.Faults
	faults.Lease("/lease_ms", c.LeaseMs)
	if c.SettledAfter != nil && *c.SettledAfter < 0 {
		faults.Add("/settled_after", "must not be negative")
	}
	return faults.Err()
}

func (c *Heartbeat) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if c.Fence != 0 && c.Fence == run.Fence && (run.Status == api.StatusCancelled || run.Status == api.StatusInterrupted) {
		return Reply{CancelRequested: true, LeaseExpiresAtMs: run.FinishedAtMs}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	if c.Checkpoint != nil {
		w.checkpoint(run, c.Checkpoint)
		if run.Attached {
			w.takeIn(run, c.SettledAfter)
		}
	}
	w.extend(run, c.LeaseMs)
	return Reply{LeaseExpiresAtMs: run.LeaseExpiresAtMs}, nil
}

// Needs implements Command.
func (c *Release) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Release) prepare(IDSource) error {
	document.AbsentNull(&c.Checkpoint)
	var err error
	c.digest, err = digestOf(map[string]any{"release": c.Checkpoint})
	return err
}

func (c *Release) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if w.sameCall(run, c.Fence, model.LeaseReleased, c.digest) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	if c.Checkpoint != nil {
		w.checkpoint(run, c.Checkpoint)
		if run.Attached {
			w.takeIn(run, nil)
		}
	}
	// A release does not count as an attempt.
	run.Attempt = max(run.Attempt-1, 0)
	run.StalledAttempts = max(run.StalledAttempts-1, 0)
	w.endLease(run, model.LeaseReleased, c.digest)
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = w.nowMs
	}
	return Reply{Run: w.recordOf(run)}, nil
}

// sameCall reports whether the call that ended the newest lease is this one again.
func (w *work) sameCall(run *model.Run, fence int64, end model.LeaseEnd, digest string) bool {
	return fence != 0 && fence == run.Fence && run.LeaseEnd == end && run.LastCallDigest == digest
}
