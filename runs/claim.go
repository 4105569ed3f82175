package runs

import (
	"cmp"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ClaimRun takes the lease of a claimable run under a new fence (docs/spec/v1.md#claim).
//
// Reply: Run, Claim and Lapsed. Errors: invalid_request; run_not_found; run_not_claimable, even if
// the call failed the run instead, because MaxAttempts claims made no progress
// (docs/spec/v1.md#attempts).
type ClaimRun struct {
	RunID     string
	SessionID string // the run's; looked up when empty
	WorkerID  string
	// Principal is the claimer's principal. It holds the lease and is recorded as the actor of later
	// events. Empty for the service itself.
	Principal string
	// OnBehalfOf is the person whose token the claimer used, "" for none. The person counts as a
	// requester, as the principal does.
	OnBehalfOf  string
	LeaseMs     int64 // DefaultLeaseMs when 0
	MaxAttempts int64 // DefaultMaxAttempts when 0
	// Scope is the claimer's scope. A run outside of it is run_not_found.
	Scope reads.Scope
	// Opens reports whether this process can decrypt values under a data key; nil skips the check. The
	// claim leaves a run with undecryptable answers to a process that has the key.
	Opens func(dataKey string) bool
}

// Spec implements Command.
func (c *ClaimRun) Spec() Spec {
	return Spec{Name: "ClaimRun", Actions: works, Unleased: true, Target: TargetNamed, Actor: c.Principal, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *ClaimRun) Needs() Needs {
	return Needs{SessionID: c.SessionID, RunID: c.RunID, Payload: true, RunMessages: true}
}

func (c *ClaimRun) prepare(*Call, IDSource) error {
	var faults refusal.Faults
	faults.ID("/worker_id", c.WorkerID)
	faults.Lease("/lease_ms", c.LeaseMs)
	return faults.Err()
}

func (c *ClaimRun) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if !c.Scope.FitsRun(run) {
		return Reply{}, refusal.UnknownRun(c.RunID)
	}
	if run.ClaimableAtMs == 0 || run.ClaimableAtMs > w.nowMs {
		return Reply{}, refusal.New(api.CodeRunNotClaimable, "run %s is %s and cannot be claimed now", run.RunID, run.Status)
	}
	if run.DataKey != "" && c.Opens != nil && !c.Opens(run.DataKey) {
		return Reply{}, refusal.New(api.CodeRunNotClaimable, "run %s has sensitive values, and this process does not have their key yet", run.RunID)
	}
	if most := cmp.Or(c.MaxAttempts, DefaultMaxAttempts); run.StalledAttempts >= most {
		w.expireOpenRequests(run)
		run.Error = fmt.Sprintf("given up after %d attempts without progress", most)
		w.finishRun(run, api.StatusFailed, model.LeaseRevoked, api.EventFailed, errorEvent{api.EventFailed, run.Error})
		return Reply{}, refusal.New(api.CodeRunNotClaimable, "run %s was %s", run.RunID, run.Error)
	}
	if run.Status == api.StatusQueued {
		w.leaveQueue(run)
		w.startRun(run)
	}
	lapsed := run.LeaseExpiresAtMs != 0 // a lease that its holder ended is 0
	w.grantLease(run, c.WorkerID, c.Principal, c.OnBehalfOf, c.LeaseMs)
	w.acknowledgeAnswers(run)
	record := w.recordOf(run)
	return Reply{Run: record, Claim: new(record.ClaimOf()), Lapsed: lapsed}, nil
}
