package claims

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// hint is a run that may be claimable, shared by the demands that match it. The dispatcher's
// mutex guards it.
type hint struct {
	reads.Claimable
	arrival uint64
	// taken: a claimer has it.
	taken bool
}

func byAge(a, b *hint) int {
	return cmp.Or(cmp.Compare(a.ClaimableAtMs, b.ClaimableAtMs), cmp.Compare(a.arrival, b.arrival))
}

// demand is shared by the claims for the same agents and scope. The dispatcher's mutex guards
// it.
type demand struct {
	key      string
	agentIDs []string // sorted; empty for all agents
	scope    reads.Scope

	queue   []*hint // invariant 1; may hold taken hints, which popHints skips
	more    bool    // invariant 2
	waiters []*waiter
	// busy are the claimers that are claiming runs and have room for more (invariant 8).
	busy []*waiter

	// claimers counts the claims in progress, waiting or not; used records any since the last
	// tick. A demand without either is dropped.
	claimers int
	used     bool

	scanWanted bool
	scanning   bool
	scansEnded int64 // only successful ones
	// arrived holds the hints since the current scan began; arrivedLost records an overflow.
	arrived     []*hint
	arrivedLost bool
}

// reaches reports whether the run is within the demand's scope. Its agent must match already.
func (d *demand) reaches(run *reads.Claimable) bool {
	return !d.scope.Bounded() || d.scope.Fits(run.SessionID, run.AgentID, run.Principal, run.HolderPrincipal)
}

// popHints removes and returns up to n hints from the front of the queue.
func (d *demand) popHints(n int) []*hint {
	var hints []*hint
	for len(d.queue) > 0 && len(hints) < n {
		first := d.queue[0]
		d.queue[0] = nil
		d.queue = d.queue[1:]
		if !first.taken {
			first.taken = true
			hints = append(hints, first)
		}
	}
	return hints
}

// noteArrival keeps a hint for the end of the current scan.
func (d *demand) noteArrival(h *hint, limit int) {
	switch {
	case !d.scanning:
	case len(d.arrived) >= limit:
		d.arrivedLost = true
	default:
		d.arrived = append(d.arrived, h)
	}
}

// queueHint queues a hint, unless it would overtake runs that are not known here.
func (d *demand) queueHint(h *hint, limit int) {
	switch {
	case d.more:
	case len(d.queue) >= limit:
		d.more = true
	default:
		d.queue = insert(d.queue, h)
	}
}

// insert inserts a hint by age. It skips a second hint for the same run and time.
func insert(queue []*hint, h *hint) []*hint {
	first, _ := slices.BinarySearchFunc(queue, h.ClaimableAtMs, func(other *hint, atMs int64) int {
		return cmp.Compare(other.ClaimableAtMs, atMs)
	})
	for _, other := range queue[first:] {
		if other.ClaimableAtMs != h.ClaimableAtMs {
			break
		}
		if other.RunID == h.RunID {
			return queue
		}
	}
	at, _ := slices.BinarySearchFunc(queue, h, byAge)
	return slices.Insert(queue, at, h)
}

// beginScan marks the start of a scan. Later arrivals are kept apart.
func (d *demand) beginScan() {
	d.scanWanted = false
	d.scanning = true
}

// nextScan returns the number of the next scan to begin, or a later one if the current scan
// fails.
func (d *demand) nextScan() int64 {
	if d.scanning {
		return d.scansEnded + 2
	}
	return d.scansEnded + 1
}

// endScan replaces the queue with the rows that a scan found, oldest first (invariant 4).
// truncated says that there may be more rows, all younger.
func (d *demand) endScan(rows []*hint, truncated bool) {
	// A row is stale if its hint arrived and was taken during the scan.
	taken := map[string]int64{}
	for _, h := range d.arrived {
		if h.taken {
			taken[h.RunID] = h.ClaimableAtMs
		}
	}
	d.queue = slices.DeleteFunc(rows, func(row *hint) bool {
		at, ok := taken[row.RunID]
		return ok && at == row.ClaimableAtMs
	})
	if !truncated {
		for _, h := range d.arrived {
			if !h.taken {
				d.queue = insert(d.queue, h)
			}
		}
	}
	d.more = truncated || d.arrivedLost
	d.scansEnded++
	d.stopScan()
}

// failScan ends a failed scan; the queue stays as it was.
func (d *demand) failScan() {
	d.more = d.more || d.arrivedLost
	d.stopScan()
}

func (d *demand) stopScan() {
	d.scanning = false
	d.arrived = nil
	d.arrivedLost = false
}

// waiter is a claim while it looks for a run. The dispatcher's mutex guards its variable parts.
type waiter struct {
	number  uint64 // the order in which claims arrived
	demand  *demand
	maxRuns int

	// waiting: it is in its demand's list (invariant 7).
	waiting bool
	// impatient: its wait is over, and it leaves as soon as it may.
	impatient bool
	// leastScan is the scan of its demand that must end before it may leave without a run
	// (invariant 6).
	leastScan int64
	// hints and err are set before the signal.
	hints  []*hint
	err    error
	signal chan struct{} // capacity 1

	claimer
	// taking counts the claims that the store is deciding for it; it is then in no list. handed
	// are the committed ones.
	taking int
	handed []api.Claim
	// refused are the hints of the rejected ones.
	refused []*hint
	// gone: it no longer wants a run.
	gone bool
	// room is how many more runs a busy waiter takes. leaving: it waits only for the claims that
	// are being decided.
	room    int
	leaving bool
}

// mayLeave reports whether there is certainly no run for the waiter.
func (w *waiter) mayLeave() bool {
	return w.impatient && w.demand.scansEnded >= w.leastScan && !w.demand.more
}

// enlist inserts a waiter into its demand's list by age: after rejected hints it returns to its
// old place.
func (w *waiter) enlist() {
	d := w.demand
	at, _ := slices.BinarySearchFunc(d.waiters, w.number, func(other *waiter, number uint64) int {
		return cmp.Compare(other.number, number)
	})
	d.waiters = slices.Insert(d.waiters, at, w)
	w.waiting = true
}

// leave removes a waiter from its demand's list.
func (w *waiter) leave() {
	d := w.demand
	at := slices.Index(d.waiters, w)
	d.waiters = slices.Delete(d.waiters, at, at+1)
	w.waiting = false
}

// wake removes a waiter from the list and signals it with hints, an error, or nothing.
func (w *waiter) wake(hints []*hint, err error) {
	w.leave()
	w.hints, w.err = hints, err
	w.signal <- struct{}{}
}
