package crash

import (
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// working are the calls of those who make runs and work on them.
var working = []scenario{
	{
		name: "create a run",
		// The key alone tells the repeat from a second run.
		call: func(a *attempt) error {
			params := a.params(nil, nil)
			params.RunID, params.IdempotencyKey = "", "create"
			created, err := a.client.CreateRun(a.ctx, params)
			if err == nil {
				a.runID = created.RunID
			}
			return err
		},
		inForce: runsMade,
		finish: func(a *attempt) error {
			taken, err := a.client.ClaimRun(a.ctx, a.runID, api.ClaimOptions{WorkerID: workerID})
			if err != nil {
				return err
			}
			a.fence = taken.Lease.Fence
			return a.complete()
		},
		events: []string{"accepted", "queued", "started", "completed"},
	},
	{
		name:    "create and claim",
		call:    func(a *attempt) error { return a.makeHeld() },
		inForce: runsMade,
		finish: func(a *attempt) error {
			if a.fence != "1" {
				return fmt.Errorf("the fence is %s", a.fence)
			}
			return a.complete()
		},
		events: []string{"accepted", "started", "completed"},
	},
	{
		name: "create, claim and suspend",
		call: func(a *attempt) error {
			_, err := a.client.CreateRun(a.ctx, a.params(approvals(2), &api.ClaimOptions{WorkerID: workerID}))
			return err
		},
		inForce: runsMade,
		finish: func(a *attempt) error {
			if err := a.resolve(allow("ask-1"), deny("ask-2")); err != nil {
				return err
			}
			return a.resume("2", api.OutcomeAllowed, api.OutcomeDenied)
		},
		events: approvedLog,
	},
	{
		name:    "suspend",
		prepare: (*attempt).makeHeld,
		call:    func(a *attempt) error { return a.suspend(approvals(2)) },
		inForce: logged("waiting_for_approval"),
		finish: func(a *attempt) error {
			if err := a.resolve(allow("ask-1"), deny("ask-2")); err != nil {
				return err
			}
			return a.resume("2", api.OutcomeAllowed, api.OutcomeDenied)
		},
		events: approvedLog,
	},
	{
		name:    "suspend and stay attached",
		prepare: (*attempt).makeHeld,
		call:    func(a *attempt) error { return a.suspend(held(approvals(2))) },
		inForce: logged("waiting_for_approval"),
		finish: func(a *attempt) error {
			if err := a.resolve(deny("ask-2"), allow("ask-1")); err != nil {
				return err
			}
			if err := a.settled(0, api.OutcomeDenied, api.OutcomeAllowed); err != nil {
				return err
			}
			return a.complete()
		},
		events: approvedLog,
	},
	{
		name: "resolve for an attached worker",
		prepare: func(a *attempt) error {
			if err := a.makeHeld(); err != nil {
				return err
			}
			return a.suspend(held(approvals(1)))
		},
		call:    func(a *attempt) error { return a.resolve(allow("ask-1")) },
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeAllowed}),
		finish: func(a *attempt) error {
			if err := a.settled(0, api.OutcomeAllowed); err != nil {
				return err
			}
			return a.complete()
		},
		events: approvedLog,
	},
	{
		name: "withdraw a request",
		prepare: func(a *attempt) error {
			if err := a.makeHeld(); err != nil {
				return err
			}
			return a.suspend(held(approvals(2)))
		},
		call: func(a *attempt) error {
			_, err := a.client.Withdraw(a.ctx, a.runID, "ask-1", a.fence, "not needed")
			return err
		},
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeCancelled}),
		finish: func(a *attempt) error {
			if err := a.resolve(allow("ask-2")); err != nil {
				return err
			}
			if err := a.settled(0, api.OutcomeCancelled, api.OutcomeAllowed); err != nil {
				return err
			}
			return a.complete()
		},
		events: approvedTwiceLog,
	},
	{
		name:    "claim what there is",
		prepare: (*attempt).makeDecided,
		call: func(a *attempt) error {
			claim, err := a.claim(shortLeaseMs)
			if err != nil {
				return err
			}
			return handed(claim.Resume, api.OutcomeAllowed)
		},
		onlyUnacknowledged: true,
		inForce:            leased,
		finish:             (*attempt).finishLeased,
		events:             approvedLog,
	},
	{
		name:    "claim by id",
		prepare: (*attempt).makeDecided,
		call: func(a *attempt) error {
			claim, err := a.client.ClaimRun(a.ctx, a.runID, api.ClaimOptions{WorkerID: workerID, LeaseMs: shortLeaseMs})
			if err != nil {
				return err
			}
			return errors.Join(a.took(claim), handed(claim.Resume, api.OutcomeAllowed))
		},
		// Whoever had no reply waits until the run is claimable again, if it was leased.
		again: func(a *attempt) error {
			claim, err := a.claim(longLeaseMs)
			if err != nil {
				return err
			}
			return handed(claim.Resume, api.OutcomeAllowed)
		},
		onlyUnacknowledged: true,
		inForce:            leased,
		finish:             (*attempt).finishLeased,
		events:             approvedLog,
	},
	{
		name:    "heartbeat with a checkpoint",
		prepare: (*attempt).makeHeld,
		call: func(a *attempt) error {
			_, err := a.client.Heartbeat(a.ctx, a.runID, client.HeartbeatParams{
				Fence: a.fence, LeaseMs: longLeaseMs, Checkpoint: api.JSON(`{"step":2}`),
			})
			return err
		},
		// The lease was one of half a minute.
		inForce: func(a *attempt) (int, error) {
			run, err := a.client.GetRun(a.ctx, a.runID)
			if err != nil || run.Lease == nil {
				return 0, errors.Join(err, errors.New("the lease is gone"))
			}
			if run.Lease.ExpiresAtMs-run.SubmittedAtMs < longLeaseMs {
				return 0, nil
			}
			return 1, nil
		},
		finish: func(a *attempt) error {
			if _, err := a.client.ReleaseRun(a.ctx, a.runID, a.fence, nil); err != nil {
				return err
			}
			claim, err := a.claim(longLeaseMs)
			if err != nil {
				return err
			}
			if string(claim.Checkpoint) != `{"step":2}` || a.fence != "2" {
				return fmt.Errorf("handed over with checkpoint %s and fence %s", claim.Checkpoint, a.fence)
			}
			return a.complete()
		},
		events: []string{"accepted", "started", "completed"},
	},
	{
		name:    "complete",
		prepare: (*attempt).makeHeld,
		call:    (*attempt).complete,
		inForce: logged("completed"),
		finish:  func(a *attempt) error { return a.ended(api.StatusCompleted) },
		events:  []string{"accepted", "started", "completed"},
	},
	{
		name: "complete with a request open",
		prepare: func(a *attempt) error {
			if err := a.makeHeld(); err != nil {
				return err
			}
			return a.suspend(held(approvals(1)))
		},
		call:    (*attempt).complete,
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeExpired}),
		finish:  func(a *attempt) error { return a.ended(api.StatusCompleted) },
		events:  []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "completed"},
	},
	{
		name:    "fail",
		prepare: (*attempt).makeHeld,
		call: func(a *attempt) error {
			_, err := a.client.FailRun(a.ctx, a.runID, a.fence, "no luck")
			return err
		},
		inForce: logged("failed"),
		finish:  func(a *attempt) error { return a.ended(api.StatusFailed) },
		events:  []string{"accepted", "started", "failed"},
	},
	{
		name:    "release",
		prepare: (*attempt).makeHeld,
		call: func(a *attempt) error {
			_, err := a.client.ReleaseRun(a.ctx, a.runID, a.fence, api.JSON(`{"step":3}`))
			return err
		},
		inForce: func(a *attempt) (int, error) {
			leases, err := leased(a)
			return 1 - leases, err
		},
		finish: func(a *attempt) error {
			claim, err := a.claim(longLeaseMs)
			if err != nil {
				return err
			}
			if string(claim.Checkpoint) != `{"step":3}` || a.fence != "2" || claim.Attempt != 1 {
				return fmt.Errorf("handed over as attempt %d with checkpoint %s and fence %s", claim.Attempt, claim.Checkpoint, a.fence)
			}
			return a.complete()
		},
		events: []string{"accepted", "started", "completed"},
	},
}

func (a *attempt) suspend(suspension *api.Suspension) error {
	_, err := a.client.Suspend(a.ctx, a.runID, a.fence, *suspension)
	return err
}

// makeDecided makes a run that waited, was allowed to go on, and is claimable.
func (a *attempt) makeDecided() error {
	if err := a.makeWaiting(approvals(1)); err != nil {
		return err
	}
	return a.resolve(allow("ask-1"))
}

// leased counts the leases that the run has now, 0 or 1.
func leased(a *attempt) (int, error) {
	run, err := a.client.GetRun(a.ctx, a.runID)
	if err != nil || run.Lease == nil {
		return 0, err
	}
	return 1, nil
}

// finishLeased completes a run whose claim was in question. A lease that was taken
// and never acknowledged has lapsed, and its fence opens nothing any more.
func (a *attempt) finishLeased() error {
	run, err := a.client.GetRun(a.ctx, a.runID)
	if err != nil {
		return err
	}
	switch {
	case a.fence == "1" && run.Attempt == 1:
	case a.fence == "2" && run.Attempt == 2:
		if _, err := a.client.CompleteRun(a.ctx, a.runID, "1", nil); !errors.Is(err, client.ErrLeaseLost) {
			return fmt.Errorf("completed with the fence before: %w", err)
		}
	default:
		return fmt.Errorf("handed over with fence %s, and the run is at attempt %d", a.fence, run.Attempt)
	}
	return a.complete()
}
