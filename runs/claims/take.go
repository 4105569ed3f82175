package claims

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

var _ runs.Taker = (*Dispatcher)(nil)

// taking is a claim that the store decides.
type taking struct {
	w    *waiter
	hint *hint
}

// Waiting implements runs.Taker.
func (d *Dispatcher) Waiting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, demand := range d.demands {
		if len(demand.waiters) > 0 && !demand.more {
			return true
		}
	}
	return false
}

// Take implements runs.Taker: each run goes to the waiter that its hint would go to. When all
// that fit have one, those with room get more, who has fewest first.
func (d *Dispatcher) Take(claimable []runs.Claimable) []*runs.ClaimRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	claims := make([]*runs.ClaimRun, len(claimable))
	var served []*waiter
	for i, run := range claimable {
		if at, ok := d.claiming[run.RunID]; d.closed || ok && at == run.ClaimableAtMs {
			continue
		}
		demands := d.demandsFor(run.AgentID)
		w := oldestWaiter(demands)
		if w == nil {
			w = withRoom(served, demands)
		} else {
			w.leave()
			served = append(served, w)
		}
		if w == nil {
			continue
		}
		h := d.newHint(run)
		h.taken = true
		for _, demand := range demands {
			demand.noteArrival(h, d.options.HintLimit)
		}
		d.claiming[h.RunID] = h.ClaimableAtMs
		claim := &runs.ClaimRun{
			RunID: run.RunID, SessionID: run.SessionID, WorkerID: w.workerID, LeaseMs: w.leaseMs, MaxAttempts: d.options.MaxAttempts,
		}
		w.taking++
		d.taking[claim] = &taking{w, h}
		claims[i] = claim
	}
	return claims
}

// withRoom returns the waiter with the fewest claims that fits and takes one more, or nil.
func withRoom(served []*waiter, demands []*demand) *waiter {
	var least *waiter
	for _, w := range served {
		if w.taking < w.maxRuns && slices.Contains(demands, w.demand) && (least == nil || w.taking < least.taking) {
			least = w
		}
	}
	return least
}

// Taken implements runs.Taker.
func (d *Dispatcher) Taken(claim *runs.ClaimRun, reply runs.Reply, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.taking[claim]
	if taken == nil {
		return
	}
	delete(d.taking, claim)
	d.releaseHint(taken.hint)
	w := taken.w
	w.taking--
	if err == nil && reply.Claim != nil {
		w.handed = append(w.handed, *reply.Claim)
	} else {
		w.refused = append(w.refused, taken.hint)
	}
	if w.taking == 0 {
		d.endTaking(w)
	}
}

// endTaking wakes a waiter that was handed something, and lets one that was not wait on. What
// nobody gets is offered again.
func (d *Dispatcher) endTaking(w *waiter) {
	for _, h := range w.refused {
		if !d.closed {
			d.offerHint(h.Claimable)
		}
	}
	w.refused = nil
	switch {
	case w.gone:
		handed := w.handed
		w.handed = nil
		if len(handed) > 0 {
			d.givingBack.Go(func() { d.GiveBack(context.Background(), handed) })
		}
	case len(w.handed) > 0 || d.closed:
		w.signal <- struct{}{}
	default:
		if w.hints = d.takeHints(w); len(w.hints) > 0 {
			w.signal <- struct{}{}
			return
		}
		w.enlist()
		if w.mayLeave() {
			w.wake(nil, nil)
		} else if w.impatient {
			d.wantScan(w.demand)
		}
	}
}

// takeHanded returns what a waiter was handed over.
func (d *Dispatcher) takeHanded(w *waiter) []api.Claim {
	d.mu.Lock()
	defer d.mu.Unlock()
	handed := w.handed
	w.handed = nil
	return handed
}

// unlessGone returns the claims, or gives them back when nobody wants them any more.
func (d *Dispatcher) unlessGone(ctx context.Context, handed []api.Claim) ([]api.Claim, error) {
	if err := ctx.Err(); err != nil {
		d.GiveBack(ctx, handed)
		return nil, err
	}
	return handed, nil
}
