package claims

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of a [Request] (v1-work.md "Work").
const (
	MaxRuns     = 100
	MaxAgentIDs = 1_000
	MaxWait     = time.Minute
)

// doorTimeout bounds one command. It does not follow the client's context, because
// a lease must be known to be taken or not before its run can be given back.
const doorTimeout = 30 * time.Second

// Request asks for runs to work on.
type Request struct {
	WorkerID string
	// AgentIDs are the agents whose runs are asked for; all when empty.
	AgentIDs []string
	MaxRuns  int   // 1 to MaxRuns; 0 is 1
	LeaseMs  int64 // runs.DefaultLeaseMs when 0
	// Wait is how long to wait for a first run, up to MaxWait; 0 does not wait.
	Wait time.Duration
}

// Claim returns up to MaxRuns runs with their leases, as soon as there is one, in
// the order in which they became claimable; none when the wait ran out or the
// dispatcher is shutting down. Claims for the same agents are served in the order
// in which they came.
//
// Errors: invalid_request; ctx's error, after which nothing is leased; what the
// store returns, when nobody can tell whether there is a run. It goes past a run
// that another claim took, or that was failed because its attempts are used up.
func (d *Dispatcher) Claim(ctx context.Context, request Request) ([]api.Claim, error) {
	request, err := request.checked()
	if err != nil {
		return nil, err
	}
	w := d.join(request.AgentIDs, request.MaxRuns)
	defer d.part(w)
	timer := time.NewTimer(request.Wait)
	defer timer.Stop()
	for {
		hints, err := d.next(ctx, w, request.Wait, timer.C)
		if err != nil || len(hints) == 0 {
			return []api.Claim{}, err
		}
		claims, err := d.claimAll(ctx, hints, request)
		if err != nil || len(claims) > 0 {
			return claims, err
		}
	}
}

// ClaimRun claims one run by its id, if it is claimable.
//
// Errors: invalid_request, run_not_found, run_not_claimable; ctx's error, after
// which nothing is leased; what the store returns.
func (d *Dispatcher) ClaimRun(ctx context.Context, runID, workerID string, leaseMs int64) (api.Claim, error) {
	if err := ctx.Err(); err != nil {
		return api.Claim{}, err
	}
	claim, err := d.claimOne(ctx, &runs.ClaimRun{
		RunID: runID, WorkerID: workerID, LeaseMs: leaseMs, MaxAttempts: d.options.MaxAttempts,
	})
	if err != nil {
		return api.Claim{}, err
	}
	if err := ctx.Err(); err != nil {
		d.GiveBack(ctx, []api.Claim{claim})
		return api.Claim{}, err
	}
	return claim, nil
}

// GiveBack releases runs that were claimed for somebody who is not there to take
// them, so that they do not wait for a lease that nobody holds. It goes on when ctx
// is over, and returns when the releases are done. One that fails is logged; its
// run is claimable again when the lease lapses.
func (d *Dispatcher) GiveBack(ctx context.Context, claims []api.Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doorTimeout)
	defer cancel()
	var releases sync.WaitGroup
	for _, claim := range claims {
		releases.Go(func() {
			if err := d.release(ctx, claim); err != nil {
				d.options.Logger.WarnContext(ctx, "run of a client that is gone was not given back",
					slog.String("run_id", claim.Run.RunID), slog.String("error", err.Error()))
			}
		})
	}
	releases.Wait()
}

func (d *Dispatcher) release(ctx context.Context, claim api.Claim) error {
	fence, err := strconv.ParseInt(claim.Lease.Fence, 10, 64)
	if err != nil {
		return fmt.Errorf("read fence: %w", err)
	}
	_, err = d.store.Do(ctx, &runs.Release{RunID: claim.Run.RunID, Fence: fence})
	switch refusal.CodeOf(err) {
	case api.CodeLeaseLost, api.CodeRunStateConflict, api.CodeRunNotFound:
		return nil // it is out of this claim's hands already
	default:
		return err
	}
}

// next returns the hints that the waiter's turn brings, none when it must go with
// nothing.
func (d *Dispatcher) next(ctx context.Context, w *waiter, wait time.Duration, timeout <-chan time.Time) ([]*hint, error) {
	hints, goOn := d.enter(w, wait)
	if !goOn {
		return hints, nil
	}
	for {
		select {
		case <-w.signal:
			return d.leaveWith(w)
		case <-timeout:
			d.endPatience(w)
			timeout = nil
		case <-ctx.Done():
			d.abandon(w)
			return nil, ctx.Err()
		}
	}
}

// enter takes what is there already, or else puts the waiter into its list and
// reports that it must wait for its signal.
func (d *Dispatcher) enter(w *waiter, wait time.Duration) (hints []*hint, goOn bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false
	}
	if hints := d.take(w); len(hints) > 0 {
		return hints, false
	}
	w.impatient = w.impatient || wait <= 0
	if w.mayLeave() {
		return nil, false
	}
	w.enlist()
	// One who waits for long enough sees the scan of a tick and need not ask for one
	// of its own; with many workers that would be a query for each claim.
	if w.impatient || wait <= d.options.ScanInterval || w.demand.more {
		d.wantScan(w.demand)
	}
	return nil, true
}

// leaveWith returns what the waiter was signalled with.
func (d *Dispatcher) leaveWith(w *waiter) ([]*hint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hints, err := w.hints, w.err
	w.hints, w.err = nil, nil
	return hints, err
}

// endPatience makes the waiter leave as soon as it may.
func (d *Dispatcher) endPatience(w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.impatient = true
	switch {
	case !w.waiting: // its signal is there
	case w.mayLeave():
		w.wake(nil, nil)
	default:
		d.wantScan(w.demand)
	}
}

// abandon makes the waiter leave whatever there is, and passes on what it was
// handed (invariant 7).
func (d *Dispatcher) abandon(w *waiter) {
	d.mu.Lock()
	if w.waiting {
		w.leave()
	}
	hints := w.hints
	w.hints = nil
	d.mu.Unlock()
	d.putBack(hints)
}

// claimAll takes the leases of the hinted runs, all at once, so that they can land
// in one batch. It returns those that it got, in the order of the hints; an error
// only when it got none, or when ctx ended, and then nothing is leased.
func (d *Dispatcher) claimAll(ctx context.Context, hints []*hint, request Request) ([]api.Claim, error) {
	if err := ctx.Err(); err != nil {
		d.putBack(hints)
		return nil, err
	}
	results := make([]api.Claim, len(hints))
	failures := make([]error, len(hints))
	claim := func(i int) {
		results[i], failures[i] = d.claimOne(ctx, &runs.ClaimRun{
			RunID: hints[i].RunID, SessionID: hints[i].SessionID,
			WorkerID: request.WorkerID, LeaseMs: request.LeaseMs, MaxAttempts: d.options.MaxAttempts,
		})
	}
	var others sync.WaitGroup
	for i := 1; i < len(hints); i++ {
		others.Go(func() { claim(i) })
	}
	claim(0)
	others.Wait()
	d.forgetAll(hints)

	var (
		claims   []api.Claim
		firstErr error
	)
	for i, err := range failures {
		switch {
		case err == nil:
			claims = append(claims, results[i])
		case notForUs(err):
		case firstErr == nil:
			firstErr = err
		}
	}
	if err := ctx.Err(); err != nil {
		d.GiveBack(ctx, claims)
		return nil, err
	}
	if len(claims) > 0 {
		return claims, nil
	}
	return nil, firstErr
}

// notForUs reports whether a claim was refused because the run is not to be had.
// After any other failure the run may or may not be leased; it is left to a scan,
// which finds it at once or when the lease lapses.
func notForUs(err error) bool {
	code := refusal.CodeOf(err)
	return code == api.CodeRunNotClaimable || code == api.CodeRunNotFound
}

func (d *Dispatcher) claimOne(ctx context.Context, command *runs.ClaimRun) (api.Claim, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doorTimeout)
	defer cancel()
	reply, err := d.store.Do(ctx, command)
	if err != nil {
		return api.Claim{}, err
	}
	if reply.Claim == nil {
		return api.Claim{}, errNoClaim
	}
	return *reply.Claim, nil
}

// errNoClaim is a defect of the door.
var errNoClaim = errors.New("door answered a claim without one")

func (d *Dispatcher) forgetAll(hints []*hint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range hints {
		d.forget(h)
	}
}

// checked returns the request with its defaults and its agents sorted, or an
// invalid_request that names the members at fault.
func (r Request) checked() (Request, error) {
	var faults []api.Fault
	if !refusal.ValidID(r.WorkerID) {
		faults = append(faults, api.Fault{Pointer: "/worker_id", Detail: fmt.Sprintf("must be an id of 1 to %d characters", api.MaxIDLength)})
	}
	if len(r.AgentIDs) > MaxAgentIDs {
		faults = append(faults, api.Fault{Pointer: "/agent_ids", Detail: fmt.Sprintf("must have at most %d items", MaxAgentIDs)})
	}
	for i, agentID := range r.AgentIDs {
		if !refusal.ValidID(agentID) {
			faults = append(faults, api.Fault{Pointer: fmt.Sprintf("/agent_ids/%d", i), Detail: fmt.Sprintf("must be an id of 1 to %d characters", api.MaxIDLength)})
		}
	}
	if r.MaxRuns < 0 || r.MaxRuns > MaxRuns {
		faults = append(faults, api.Fault{Pointer: "/max_runs", Detail: fmt.Sprintf("must be 1 to %d", MaxRuns)})
	}
	if r.LeaseMs != 0 && (r.LeaseMs < api.MinLeaseMs || r.LeaseMs > api.MaxLeaseMs) {
		faults = append(faults, api.Fault{Pointer: "/lease_ms", Detail: fmt.Sprintf("must be %d to %d", api.MinLeaseMs, api.MaxLeaseMs)})
	}
	if r.Wait < 0 || r.Wait > MaxWait {
		faults = append(faults, api.Fault{Pointer: "/wait_ms", Detail: fmt.Sprintf("must be 0 to %d", MaxWait.Milliseconds())})
	}
	if len(faults) > 0 {
		return Request{}, refusal.Invalid(faults...)
	}
	r.MaxRuns = max(r.MaxRuns, 1)
	r.AgentIDs = slices.Clone(r.AgentIDs)
	slices.Sort(r.AgentIDs)
	r.AgentIDs = slices.Compact(r.AgentIDs)
	return r, nil
}
