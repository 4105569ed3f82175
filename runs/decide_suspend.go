package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Needs implements Command.
func (c *Suspend) Needs() Needs {
	return Needs{
		RunID: c.RunID, RequestIDs: validIDs(requestIDs(&c.Suspension)...), SuspensionID: c.SuspensionID,
		Rules: len(c.Approvals) > 0, RuleDigests: c.suspending.inputDigests,
	}
}

func (c *Suspend) prepare(newID IDSource) error {
	var faults refusal.Faults
	checkSuspension(&c.Suspension, "", &faults)
	if err := faults.Err(); err != nil {
		return err
	}
	var err error
	c.suspending, err = prepareSuspension(&c.Suspension, newID)
	return err
}

func (c *Suspend) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if c.Fence != run.Fence || c.Fence == 0 {
		return Reply{}, w.holder(run, c.Fence)
	}
	if known := w.suspension(run, c.SuspensionID); known != nil && !model.Terminal(run.Status) {
		if known.SuspensionDigest != c.suspending.digest {
			return Reply{}, refusal.New(api.CodeIDConflict, "suspension %s exists with another payload", c.SuspensionID)
		}
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	for _, id := range requestIDs(&c.Suspension) {
		if w.request(run.RunID, id) != nil {
			return Reply{}, refusal.New(api.CodeIDConflict, "request %s was raised before on run %s", id, run.RunID)
		}
	}
	if open := len(w.open(run.RunID)); open+len(requestIDs(&c.Suspension)) > api.MaxOpenRequests {
		return Reply{}, refusal.Invalid(api.Fault{Pointer: "/approvals", Detail: "the run would have too many open requests"})
	}
	w.suspend(run, &c.suspending)
	return Reply{Run: w.recordOf(run)}, nil
}

// suspension returns a request of the run that was raised with that suspension.
func (w *work) suspension(run *model.Run, suspensionID string) *model.Request {
	for _, request := range w.requestsOf(run.RunID) {
		if request.SuspensionID == suspensionID {
			return request
		}
	}
	return nil
}

// suspend raises the requests and makes the run wait for them (design.md §4), unless
// rules settle them all at once. A holder who stays attached keeps the lease, and so
// does one who needs not wait; otherwise the lease ends here.
func (w *work) suspend(run *model.Run, s *raisedSuspension) {
	if s.Checkpoint != nil {
		w.checkpoint(run, s.Checkpoint)
	}
	// A plain suspension starts a new Resume. An attached one adds to what was
	// settled since the last checkpoint, so that nothing is lost if its worker dies.
	if s.Checkpoint != nil || !s.Hold && !run.Attached {
		w.takeIn(run, s.SettledAfter)
	}
	run.SuspensionID = s.SuspensionID
	run.StalledAttempts = 0
	run.Attempt = 0
	run.ClaimableAtMs = 0
	w.raise(run, s)
	leaseExpiresAtMs := run.LeaseExpiresAtMs
	if s.Hold {
		run.Attached = true
		w.saveRun(run)
	} else {
		w.endLease(run, model.LeaseSuspended, s.digest)
	}
	w.waitOrGoOn(run)
	// What is past its deadline is settled by no rule.
	w.expireDue(run)
	if !w.settleByRules(run, s) {
		return
	}
	w.waitOrGoOn(run)
	if run.Status == api.StatusRunning && !s.Hold && leaseExpiresAtMs != 0 {
		w.goOn(run, leaseExpiresAtMs)
	}
}

// goOn gives a holder the lease back that a suspension has just ended: nothing is
// left to wait for. A lease that lapsed is as it was.
func (w *work) goOn(run *model.Run, leaseExpiresAtMs int64) {
	run.LeaseExpiresAtMs, run.LeaseEnd, run.LastCallDigest = leaseExpiresAtMs, "", ""
	if run.Leased(w.nowMs) {
		run.ClaimableAtMs = leaseExpiresAtMs
		run.Attempt = 1
	}
	w.saveRun(run)
}

// Needs implements Command.
func (c *Withdraw) Needs() Needs {
	return Needs{RunID: c.RunID, RequestIDs: validIDs(c.RequestID)}
}

func (c *Withdraw) prepare(IDSource) error {
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *Withdraw) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	request := w.request(run.RunID, c.RequestID)
	if request == nil {
		return Reply{}, refusal.New(api.CodeRequestNotFound, "unknown request %s of run %s", c.RequestID, run.RunID)
	}
	if !request.Open() {
		recorded := request.RecordedDecision()
		if recorded.Via == api.ViaWorker {
			return Reply{Run: w.recordOf(run), Existing: true}, nil
		}
		code := api.CodeApprovalStateConflict
		if request.Kind != model.KindApproval {
			code = api.CodeQuestionStateConflict
		}
		return Reply{}, refusal.New(code, "request %s was already %s", c.RequestID, request.Outcome).With(recorded)
	}
	w.settleAll(run, []*model.Request{request}, api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: c.Reason, ResolvedBy: run.WorkerID, Via: api.ViaWorker,
	})
	w.waitOrGoOn(run)
	return Reply{Run: w.recordOf(run)}, nil
}
