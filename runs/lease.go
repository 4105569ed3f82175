package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// grantLease leases a run to a principal's worker under a new fence. person is the person on whose behalf
// the principal works, or "". A leaseMs of 0 is the default.
func (w *workingCopy) grantLease(run *model.Run, workerID, principal, person string, leaseMs int64) {
	run.Fence++
	run.Attempt++
	run.StalledAttempts++
	run.WorkerID, run.HolderPrincipal = workerID, principal
	run.LeaseEnd = ""
	run.LastCallDigest = ""
	run.Attached = false
	w.noteRequesters(principal, person)
	w.extendLease(run, leaseMs)
}

// extendLease extends a lease from now on. Other workers can claim a running run when its lease
// lapses, but a waiting run only after its last request is settled.
func (w *workingCopy) extendLease(run *model.Run, leaseMs int64) {
	run.LeaseExpiresAtMs = w.nowMs + cmp.Or(leaseMs, api.DefaultLeaseMs)
	if run.Status == api.StatusRunning {
		run.ClaimableAtMs = run.LeaseExpiresAtMs
		run.Attempt = max(run.Attempt, 1)
	}
	w.saveRun(run)
}

// endLease ends a lease by a call of its holder. finish later recognizes that call by the digest.
func (w *workingCopy) endLease(run *model.Run, end model.LeaseEnd, digest string) {
	run.LeaseExpiresAtMs = 0
	run.LeaseEnd = end
	run.LastCallDigest = digest
	run.Attached = false
	w.saveRun(run)
}

// storeCheckpoint stores a worker's checkpoint, which counts as progress.
func (w *workingCopy) storeCheckpoint(run *model.Run, checkpoint api.JSON) {
	run.Checkpoint = checkpoint
	run.CheckpointSet = true
	run.StalledAttempts = 0
	w.saveRun(run)
}

// takeCheckpoint stores the checkpoint of a heartbeat or a release, if there is one.
func (w *workingCopy) takeCheckpoint(run *model.Run, checkpoint api.JSON, settledAfter *int64) {
	if checkpoint == nil {
		return
	}
	w.storeCheckpoint(run, checkpoint)
	// Without settled_after, the checkpoint of a worker that is not attached includes no decision.
	if run.Attached || settledAfter != nil {
		run.ResumeAfter = resumeAfter(run, settledAfter)
	}
}

// resumeAfter returns the resolution after which the next Resume starts once a checkpoint is stored. It includes
// the resolutions up to settledAfter. If that is nil, it includes all resolutions, which the worker got with
// its claim. For an attached worker it then includes none, because the service cannot know which resolutions it
// has read (docs/spec/v1.md#checkpoint).
func resumeAfter(run *model.Run, settledAfter *int64) int64 {
	switch {
	case settledAfter != nil:
		return max(run.ResumeAfter, min(*settledAfter, run.SettledCount))
	case !run.Attached:
		return run.SettledCount
	}
	return run.ResumeAfter
}

// keepLease restores the lease that suspend has just ended, after rules settled everything.
// leaseExpiresAtMs is its previous expiry; a lapsed lease stays lapsed.
func (w *workingCopy) keepLease(run *model.Run, leaseExpiresAtMs int64) {
	run.LeaseExpiresAtMs, run.LeaseEnd, run.LastCallDigest = leaseExpiresAtMs, "", ""
	if run.Leased(w.nowMs) {
		run.ClaimableAtMs = leaseExpiresAtMs
		run.Attempt = 1
	}
	w.saveRun(run)
}

// checkHolder checks that fence is the newest and that its lease may still be used
// (docs/spec/v1.md#lease-and-fence). A lapsed lease is valid until another worker claims the run.
// Errors: lease_lost; run_state_conflict when the run was completed or failed.
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
