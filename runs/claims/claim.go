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
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// commandTimeout bounds a command. It is independent of the client's context: before a run can
// be released, it must be known whether its lease was taken.
const commandTimeout = 30 * time.Second

// Request asks for runs to work on.
type Request struct {
	WorkerID string // required
	// AgentIDs limits the claim to the runs of these agents, at most api.MaxAgentsPerClaim;
	// empty means all.
	AgentIDs []string
	// Scope limits the claim further. A limited scope requires agents, too.
	Scope reads.Scope
	// Named requires that AgentIDs, or the scope, name the agents.
	Named   bool
	MaxRuns int   // 1 to api.MaxRunsPerClaim; 1 when 0
	LeaseMs int64 // api.MinLeaseMs to api.MaxLeaseMs; api.DefaultLeaseMs when 0
	// Wait is how long to wait for the first run, at most api.MaxWaitMs; 0 does not wait.
	Wait time.Duration
}

// Claim returns up to MaxRuns runs with their leases, as soon as there is one, in the order in
// which they became claimable. It returns none if the wait ran out or the dispatcher is shutting
// down. Claims for the same agents are served in order of arrival.
//
// Errors: invalid_request; ctx's error, after which nothing is leased; the store's error, when
// it is unknown whether there is a run. It skips runs that another claim took, or that failed
// because they had no attempts left.
func (d *Dispatcher) Claim(ctx context.Context, request Request) ([]api.Claim, error) {
	request, err := request.checked()
	if err != nil {
		return nil, err
	}
	w := d.join(request.AgentIDs, request.Scope, request.MaxRuns)
	w.workerID, w.leaseMs, w.caller, w.person = request.WorkerID, request.LeaseMs, runs.CallerOf(ctx), runs.PersonOf(ctx)
	defer d.unjoin(w)
	timer := time.NewTimer(request.Wait)
	defer timer.Stop()
	for {
		hints, err := d.next(ctx, w, request.Wait, timer.C)
		if handed := d.takeHanded(w); len(handed) > 0 {
			return d.unlessGone(ctx, handed)
		}
		if err != nil || len(hints) == 0 {
			return []api.Claim{}, err
		}
		d.beginBusy(w, len(hints))
		claims, err := d.claimAll(ctx, hints, request)
		if handed := d.endBusy(w); len(handed) > 0 {
			return d.unlessGone(ctx, append(claims, handed...))
		}
		if err != nil || len(claims) > 0 {
			return claims, err
		}
	}
}

// ClaimRun claims one run by its id, if it is claimable.
//
// Errors: invalid_request, run_not_found, run_not_claimable; ctx's error, after which nothing is
// leased; the store's error.
func (d *Dispatcher) ClaimRun(ctx context.Context, runID, workerID string, leaseMs int64, scope reads.Scope) (api.Claim, error) {
	if err := ctx.Err(); err != nil {
		return api.Claim{}, err
	}
	claim, err := d.claimOne(ctx, d.claimBy(&claimer{workerID, runs.CallerOf(ctx), runs.PersonOf(ctx), leaseMs}, scope, runID, ""))
	if err != nil {
		return api.Claim{}, err
	}
	d.noteRun(claim.Run.AgentID)
	if err := ctx.Err(); err != nil {
		d.GiveBack(ctx, []api.Claim{claim})
		return api.Claim{}, err
	}
	return claim, nil
}

// GiveBack releases runs claimed for a client that has disconnected, so that they are claimable
// before their leases lapse. It ignores the end of ctx and returns once the releases are done. A
// failed release is logged; its run is claimable again when the lease lapses.
func (d *Dispatcher) GiveBack(ctx context.Context, claims []api.Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	var releases sync.WaitGroup
	for _, claim := range claims {
		releases.Go(func() {
			if err := d.release(ctx, claim); err != nil {
				d.options.Logger.WarnContext(ctx, "run of a disconnected client was not released",
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
		return nil // the lease has already ended
	default:
		return err
	}
}

// next waits for the waiter's hints. It returns none if the waiter must leave without a run.
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

// enter returns the queued hints. Without any it enlists the waiter and returns goOn: the waiter
// must wait for its signal.
func (d *Dispatcher) enter(w *waiter, wait time.Duration) (hints []*hint, goOn bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false
	}
	if hints := d.takeHints(w); len(hints) > 0 {
		return hints, false
	}
	w.impatient = w.impatient || wait <= 0
	if w.mayLeave() {
		return nil, false
	}
	w.enlist()
	// A waiter with a longer wait uses the scan of the next tick. With many workers, a scan of
	// its own would be a query for each claim.
	if w.impatient || wait <= d.options.ScanInterval || w.demand.more {
		d.wantScan(w.demand)
	}
	return nil, true
}

// leaveWith returns the hints or the error that the waiter was signalled with.
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

// abandon removes the waiter and offers its hints to others (invariant 7).
func (d *Dispatcher) abandon(w *waiter) {
	d.mu.Lock()
	if w.waiting {
		w.leave()
	}
	hints := w.hints
	w.hints = nil
	w.gone = true
	d.mu.Unlock()
	d.putBack(hints)
}

// claimer is who claims, with the lease that they ask for.
type claimer struct {
	workerID, caller, person string
	leaseMs                  int64
}

// claimBy returns the claim of a run. The session may be empty.
func (d *Dispatcher) claimBy(by *claimer, scope reads.Scope, runID, sessionID string) *runs.ClaimRun {
	return &runs.ClaimRun{
		RunID: runID, SessionID: sessionID, WorkerID: by.workerID, Principal: by.caller, OnBehalfOf: by.person, LeaseMs: by.leaseMs,
		MaxAttempts: d.options.MaxAttempts, Opens: d.options.Opens, Scope: scope,
	}
}

// claimAll claims the hinted runs concurrently, so that they can land in one batch. It returns
// the claims in the order of the hints. It returns an error only if there are none, or if ctx
// ended, and then nothing is leased.
func (d *Dispatcher) claimAll(ctx context.Context, hints []*hint, request Request) ([]api.Claim, error) {
	if err := ctx.Err(); err != nil {
		d.putBack(hints)
		return nil, err
	}
	results := make([]api.Claim, len(hints))
	failures := make([]error, len(hints))
	by := claimer{request.WorkerID, runs.CallerOf(ctx), runs.PersonOf(ctx), request.LeaseMs}
	claim := func(i int) {
		results[i], failures[i] = d.claimOne(ctx, d.claimBy(&by, request.Scope, hints[i].RunID, hints[i].SessionID))
	}
	var others sync.WaitGroup
	for i := 1; i < len(hints); i++ {
		others.Go(func() { claim(i) })
	}
	claim(0)
	others.Wait()
	d.releaseHints(hints)

	var (
		claims   []api.Claim
		firstErr error
	)
	for i, err := range failures {
		switch {
		case err == nil:
			claims = append(claims, results[i])
		case runNotAvailable(err):
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

// runNotAvailable reports whether a claim was rejected because the run is no longer claimable.
// After any other failure the run may be leased; a scan finds it, at once or when the lease
// lapses.
func runNotAvailable(err error) bool {
	code := refusal.CodeOf(err)
	return code == api.CodeRunNotClaimable || code == api.CodeRunNotFound
}

func (d *Dispatcher) claimOne(ctx context.Context, command *runs.ClaimRun) (api.Claim, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
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

// errNoClaim means a bug in the store.
var errNoClaim = errors.New("the store answered a claim without a claim")

func (d *Dispatcher) releaseHints(hints []*hint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range hints {
		d.releaseHint(h)
	}
}

// Faults returns the request's faults, with the pointers of an api.ClaimRunsBody. It is the only
// check of a claim's limits.
func (r Request) Faults() []api.Fault {
	var faults refusal.Faults
	faults.ID("/worker_id", r.WorkerID)
	if len(r.AgentIDs) > api.MaxAgentsPerClaim {
		faults.Add("/agent_ids", "must have at most %d entries", api.MaxAgentsPerClaim)
	}
	for i, agentID := range r.AgentIDs {
		faults.ID(fmt.Sprintf("/agent_ids/%d", i), agentID)
	}
	if (r.Named || r.Scope.Bounded()) && len(r.AgentIDs)+len(r.Scope.AgentIDs) == 0 {
		faults.Add("/agent_ids", "must name the agents: this credential does not claim the runs of all")
	}
	if r.MaxRuns < 0 || r.MaxRuns > api.MaxRunsPerClaim {
		faults.Add("/max_runs", "must be between 1 and %d", api.MaxRunsPerClaim)
	}
	faults.Lease("/lease_ms", r.LeaseMs)
	if r.Wait < 0 || r.Wait > api.MaxWaitMs*time.Millisecond {
		faults.Add("/wait_ms", "must be between 0 and %d", api.MaxWaitMs)
	}
	return faults.List
}

// checked returns the request with its defaults and sorted agents, or an invalid_request that
// names the invalid members.
func (r Request) checked() (Request, error) {
	if faults := r.Faults(); len(faults) > 0 {
		return Request{}, refusal.Invalid(faults...)
	}
	r.MaxRuns = max(r.MaxRuns, 1)
	if len(r.AgentIDs) == 0 {
		r.AgentIDs = r.Scope.AgentIDs
	}
	r.AgentIDs = slices.Clone(r.AgentIDs)
	slices.Sort(r.AgentIDs)
	r.AgentIDs = slices.Compact(r.AgentIDs)
	return r, nil
}
