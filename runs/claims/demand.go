package claims

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// hint is a run that may be claimable. The demands that it fits share it. The
// dispatcher's mutex guards it.
type hint struct {
	runs.Claimable
	arrival uint64
	// taken: a claimer got it.
	taken bool
}

func byAge(a, b *hint) int {
	return cmp.Or(cmp.Compare(a.ClaimableAtMs, b.ClaimableAtMs), cmp.Compare(a.arrival, b.arrival))
}

// demand is what the claims for one set of agents within one scope share. The dispatcher's
// mutex guards it.
type demand struct {
	key      string
	agentIDs []string // sorted; empty for all agents
	scope    runs.Scope

	queue   []*hint // invariant 1; may hold taken hints, which popHints skips
	more    bool    // invariant 2
	waiters []*waiter
	// busy are those that claim what they found, and have room for more (invariant 8).
	busy []*waiter

	// claimers counts the claims in progress, waiting or not; used records any
	// since the last tick. The demand is dropped when it has neither.
	claimers int
	used     bool

	scanWanted bool
	scanning   bool
	scansEnded int64 // those that did not fail
	// arrived holds the hints since the current scan began; arrivedLost records that
	// they were too many.
	arrived     []*hint
	arrivedLost bool
}

// reaches reports whether a run of one of its agents is within the demand's scope.
func (d *demand) reaches(run *runs.Claimable) bool {
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

// noteArrival remembers a hint for the end of the scan that is under way.
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

// insert puts a hint in its place by age. A hint of the same run becoming
// claimable once is not put in again.
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

// beginScan marks that a scan starts now: what arrives from now on is kept apart.
func (d *demand) beginScan() {
	d.scanWanted = false
	d.scanning = true
}

// nextScan returns the number of the first scan that begins after this moment, or
// a later one when the one under way fails.
func (d *demand) nextScan() int64 {
	if d.scanning {
		return d.scansEnded + 2
	}
	return d.scansEnded + 1
}

// endScan replaces the queue with the rows that a scan found, oldest first
// (invariant 4). truncated says that there may be more rows, all younger.
func (d *demand) endScan(rows []*hint, truncated bool) {
	// A row whose hint arrived and was taken meanwhile is stale.
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

// failScan ends a scan that learned nothing: what was known stays.
func (d *demand) failScan() {
	d.more = d.more || d.arrivedLost
	d.stopScan()
}

func (d *demand) stopScan() {
	d.scanning = false
	d.arrived = nil
	d.arrivedLost = false
}

// waiter is one claim while it looks for a run. The dispatcher's mutex guards what
// is not constant.
type waiter struct {
	number  uint64 // the order in which claims came
	demand  *demand
	maxRuns int

	// waiting: it is in its demand's list (invariant 7).
	waiting bool
	// impatient: its time is over, and it goes as soon as it may.
	impatient bool
	// leastScan is the scan of its demand that it must have seen the end of before
	// it may leave with nothing (invariant 6).
	leastScan int64
	// hints and err are set before the signal.
	hints  []*hint
	err    error
	signal chan struct{} // capacity 1

	workerID string
	caller   string
	leaseMs  int64
	// taking is how many claims the store decides for it; then it is in no list. handed are
	// those that were committed.
	taking int
	handed []api.Claim
	// refused are the hints of the others.
	refused []*hint
	// gone: it wants nothing any more.
	gone bool
	// room is how much more a waiter takes that is in the list of the busy ones; leaving says
	// that it waits for nothing but the end of what is being taken for it.
	room    int
	leaving bool
}

// mayLeave reports whether it is certain that there is nothing for the waiter.
func (w *waiter) mayLeave() bool {
	return w.impatient && w.demand.scansEnded >= w.leastScan && !w.demand.more
}

// enlist inserts a waiter into its demand's list by age: one whose hints were refused
// goes back before those that came after it.
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
