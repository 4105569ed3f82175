package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// lease hands a run that goes on to a worker under a new fence.
func (w *workingCopy) grantLease(run *model.Run, workerID string, leaseMs int64) {
	run.Fence++
	run.Attempt++
	run.StalledAttempts++
	run.WorkerID = workerID
	run.LeaseEnd = ""
	run.LastCallDigest = ""
	run.Attached = false
	w.extendLease(run, leaseMs)
}

// extend makes a lease run from now on. A run that goes on is claimable again
// when it lapses; one that waits is claimable only once it goes on.
func (w *workingCopy) extendLease(run *model.Run, leaseMs int64) {
	run.LeaseExpiresAtMs = w.nowMs + cmp.Or(leaseMs, api.DefaultLeaseMs)
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = run.LeaseExpiresAtMs
		run.Attempt = max(run.Attempt, 1)
	}
	w.saveRun(run)
}

// endLease ends a lease by an act of its holder.
func (w *workingCopy) endLease(run *model.Run, end model.LeaseEnd, digest string) {
	run.LeaseExpiresAtMs = 0
	run.LeaseEnd = end
	run.LastCallDigest = digest
	run.Attached = false
	w.saveRun(run)
}

// checkpoint stores a worker's checkpoint, which is progress.
func (w *workingCopy) storeCheckpoint(run *model.Run, checkpoint api.JSON) {
	run.Checkpoint = checkpoint
	run.CheckpointSet = true
	run.StalledAttempts = 0
	w.saveRun(run)
}

// takeIn moves the start of the next Resume past the resolutions that a checkpoint
// has taken in: those up to settledAfter, or, when the worker does not say, all
// there are.
func (w *workingCopy) ackResolutions(run *model.Run, settledAfter *int64) {
	after := run.SettledCount
	if settledAfter != nil {
		after = min(*settledAfter, run.SettledCount)
	}
	run.ResumeAfter = max(run.ResumeAfter, after)
}

// sameCall reports whether the call that ended the newest lease is this one again.
func (w *workingCopy) sameCall(run *model.Run, fence int64, end model.LeaseEnd, digest string) bool {
	return fence != 0 && fence == run.Fence && run.LeaseEnd == end && run.LastCallDigest == digest
}

// goOn gives a holder the lease back that a suspension has just ended: nothing is
// left to wait for. A lease that lapsed is as it was.
func (w *workingCopy) keepLease(run *model.Run, leaseExpiresAtMs int64) {
	run.LeaseExpiresAtMs, run.LeaseEnd, run.LastCallDigest = leaseExpiresAtMs, "", ""
	if run.Leased(w.nowMs) {
		run.ClaimableAtMs = leaseExpiresAtMs
		run.Attempt = 1
	}
	w.saveRun(run)
}

// holder checks that the caller holds the newest claim of a run that goes on
// (decisions.md 33). A lease that lapsed and that nobody took over still counts.
func (w *workingCopy) checkHolder(run *model.Run, fence int64) error {
	switch {
	case fence == 0 || fence != run.Fence:
		return refusal.New(api.CodeLeaseLost, "fence %d is not the newest of run %s", fence, run.RunID)
	case run.Status == api.StatusCompleted || run.Status == api.StatusFailed:
		return refusal.New(api.CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status)
	case model.Terminal(run.Status):
		return refusal.New(api.CodeLeaseLost, "run %s was %s", run.RunID, run.Status)
	case run.LeaseEnd != "":
		return refusal.New(api.CodeLeaseLost, "the lease of run %s was %s", run.RunID, run.LeaseEnd)
	}
	return nil
}
