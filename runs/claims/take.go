package claims

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var _ runs.Claimant = (*Dispatcher)(nil)

// taking is a claim that the store is deciding.
type taking struct {
	w    *waiter
	hint *hint
}

// Claiming implements runs.Claimant.
func (d *Dispatcher) Claiming(run reads.Claimable) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, claiming := d.claiming[run.RunID]
	return claiming && at == run.ClaimableAtMs
}

// Waiting implements runs.Taker.
func (d *Dispatcher) Waiting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, demand := range d.demands {
		if len(demand.waiters)+len(demand.busy) > 0 && !demand.more {
			return true
		}
	}
	return false
}

// Take implements runs.Taker: each run goes to the waiter that its hint would go to. Once each
// matching worker has a run, those with room get more, fewest first. So most of a worker's
// claims continue to wait, for the runs of the next transactions. If no claim waits, busy
// claimers with room get more.
func (d *Dispatcher) Take(claimable []reads.Claimable) []*runs.ClaimRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	claims := make([]*runs.ClaimRun, len(claimable))
	var served []*waiter
	for i, run := range claimable {
		if at, ok := d.claiming[run.RunID]; d.closed || ok && at == run.ClaimableAtMs {
			continue
		}
		demands := d.demandsFor(&claimable[i])
		w := oldestOther(demands, served)
		if w == nil {
			w = withRoom(served, demands)
		}
		if w == nil {
			w = oldestWaiter(demands)
		}
		if w == nil {
			w = oldestBusy(demands)
		}
		if w == nil {
			continue
		}
		if w.waiting {
			w.leave()
			served = append(served, w)
		}
		h := d.newHint(run)
		h.taken = true
		for _, demand := range demands {
			demand.noteArrival(h, d.options.hintLimit)
		}
		d.claiming[h.RunID] = h.ClaimableAtMs
		claim := d.claimBy(&w.claimer, w.demand.scope, run.RunID, run.SessionID)
		w.taking++
		d.taking[claim] = &taking{w, h}
		claims[i] = claim
	}
	return claims
}

// oldestOther returns the oldest waiter of a worker that was not served, among the demands that
// know of no other run, or nil.
func oldestOther(demands []*demand, served []*waiter) *waiter {
	var oldest *waiter
	for _, demand := range demands {
		if demand.more {
			continue
		}
		for _, w := range demand.waiters {
			if oldest != nil && oldest.number < w.number {
				break
			}
			if !slices.ContainsFunc(served, func(other *waiter) bool { return other.workerID == w.workerID }) {
				oldest = w
				break
			}
		}
	}
	return oldest
}

// oldestBusy returns the oldest busy waiter with room, among the demands whose backlog is known,
// or nil. Their queued runs go to the next claims.
func oldestBusy(demands []*demand) *waiter {
	var oldest *waiter
	for _, demand := range demands {
		if demand.more {
			continue
		}
		for _, w := range demand.busy {
			if w.taking+len(w.handed) < w.room && (oldest == nil || w.number < oldest.number) {
				oldest = w
			}
		}
	}
	return oldest
}

// beginBusy allows handing runs to a waiter while it claims the ones it found.
func (d *Dispatcher) beginBusy(w *waiter, found int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.room = w.maxRuns - found; w.room > 0 && !d.closed {
		w.demand.busy = append(w.demand.busy, w)
	}
}

// endBusy returns the runs that were handed to a waiter while it was busy.
func (d *Dispatcher) endBusy(w *waiter) []api.Claim {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.demand.busy = slices.DeleteFunc(w.demand.busy, func(other *waiter) bool { return other == w })
	w.room = 0
	if w.taking > 0 {
		w.leaving = true
		d.mu.Unlock()
		<-w.signal // the transaction ends
		d.mu.Lock()
		w.leaving = false
	}
	handed := w.handed
	w.handed = nil
	return handed
}

// withRoom returns the matching waiter with the fewest claims that has room, or nil.
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

// endTaking wakes a waiter that was handed runs, and lets any other continue to wait. Unused
// runs are offered again.
func (d *Dispatcher) endTaking(w *waiter) {
	for _, h := range w.refused {
		if !d.closed {
			d.offerHint(h.Claimable)
		}
	}
	w.refused = nil
	switch {
	case w.leaving:
		w.signal <- struct{}{}
	case slices.Contains(w.demand.busy, w):
		// A busy waiter collects its runs once it has claimed what it found.
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

// takeHanded returns the runs handed to a waiter.
func (d *Dispatcher) takeHanded(w *waiter) []api.Claim {
	d.mu.Lock()
	defer d.mu.Unlock()
	handed := w.handed
	w.handed = nil
	return handed
}

// unlessGone returns the claims, or releases them if the client has left.
func (d *Dispatcher) unlessGone(ctx context.Context, handed []api.Claim) ([]api.Claim, error) {
	if err := ctx.Err(); err != nil {
		d.GiveBack(ctx, handed)
		return nil, err
	}
	return handed, nil
}
