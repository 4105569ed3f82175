//go:build unix && faults

package linearizability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// leaseEnd is the act that ended the newest lease.
type leaseEnd string

// The ends of a lease. One that has none may have lapsed; its fence counts until
// another claim.
const (
	leaseGoesOn    leaseEnd = ""
	leaseSuspended leaseEnd = "suspended"
	leaseReleased  leaseEnd = "released"
	leaseCompleted leaseEnd = "completed"
	leaseRevoked   leaseEnd = "revoked"
)

// run is the model of one run: the wait and the lease. Two runs are equal if == says so. Its
// methods change it, so they are called on copies.
type run struct {
	Exists bool
	Status api.Status

	// Fence counts the claims.
	Fence    int64
	LeaseEnd leaseEnd
	// The moment from which the run may be claimed, if its status allows it, lies
	// between these two; both are 0 when that is now.
	ClaimableMinMs, ClaimableMaxMs int64

	// Rounds counts the suspensions. The next claim shows the requests of the last one.
	Rounds   int
	Requests [maxSlots]request
	// RaisedUnder is the fence of each suspension. A lease ends with its suspension, so no
	// fence has two.
	RaisedUnder [maxRounds]int64
	// Released are the fences that were released, by variant.
	Released [2]fences
	// Result is the mark of the call that completed the run.
	Result string
	// Keys has a bit for each idempotency key that was recorded, by variant.
	Keys [2]uint64
}

// fences is a set of fences, with a bit for each. A run is left alone long before it has had that
// many claims (maxCalls).
type fences [2]uint64

func (f *fences) has(fence int64) bool { return f[fence/64]&(1<<(fence%64)) != 0 }
func (f *fences) add(fence int64)      { f[fence/64] |= 1 << (fence % 64) }

// request is an approval or a question of a run.
type request struct {
	Raised, Question bool
	DueAtMs          int64
	settled          // the outcome is empty while it is open
}

func (q *request) open() bool { return q.Raised && q.Outcome == "" }

func terminal(status api.Status) bool {
	return status == api.StatusCompleted || status == api.StatusCancelled
}

// lastRound returns the first request of the last suspension and the one after it.
func (r *run) lastRound() (from, to int) {
	return max(r.Rounds-1, 0) * requestsPerRound, r.Rounds * requestsPerRound
}

func (r *run) isOpen(question bool) bool {
	return slices.ContainsFunc(r.Requests[:], func(q request) bool { return q.open() && q.Question == question })
}

func (r *run) settle(slot int, outcome api.Outcome, mark string) {
	r.Requests[slot].settled = settled{Outcome: outcome, Mark: mark}
}

// waitOrGoOn sets the status from the open requests. Without any, the run is claimable.
func (r *run) waitOrGoOn() {
	switch {
	case r.isOpen(true):
		r.Status = api.StatusWaitingForUserQuestion
	case r.isOpen(false):
		r.Status = api.StatusWaitingForApproval
	default:
		r.Status = api.StatusRunning
		r.claimableNow()
	}
}

func (r *run) claimableNow() { r.ClaimableMinMs, r.ClaimableMaxMs = 0, 0 }

// cancel ends the run and its requests.
func (r *run) cancel(actor string) {
	for slot := range r.Requests {
		if r.Requests[slot].open() {
			r.settle(slot, api.OutcomeCancelled, actor+"#")
		}
	}
	r.end(api.StatusCancelled, leaseRevoked)
}

func (r *run) end(status api.Status, leaseEnd leaseEnd) {
	r.Status = status
	if leaseEnd != leaseRevoked || r.LeaseEnd == leaseGoesOn { // a lease ended by its holder is not revoked
		r.LeaseEnd = leaseEnd
	}
	r.ClaimableMinMs, r.ClaimableMaxMs = math.MaxInt64, math.MaxInt64
}

// due returns the open requests whose deadline is not after a moment, the earliest
// first.
func (r *run) due(atMs int64) []int {
	var due []int
	for slot := range r.Requests {
		if q := &r.Requests[slot]; q.open() && q.DueAtMs != 0 && q.DueAtMs <= atMs {
			due = append(due, slot)
		}
	}
	slices.SortStableFunc(due, func(a, b int) int { return cmp.Compare(r.Requests[a].DueAtMs, r.Requests[b].DueAtMs) })
	return due
}

// expire lets requests expire together. The worker gets a denial for an approval, and a question
// ends the run.
func (r *run) expire(due []int) {
	question := -1
	for _, slot := range due {
		switch {
		case !r.Requests[slot].Question:
			r.settle(slot, api.OutcomeExpired, systemMark)
		case question < 0:
			question = slot
		}
	}
	if question < 0 {
		r.waitOrGoOn()
		return
	}
	r.settle(question, api.OutcomeExpired, systemMark)
	r.cancel(systemName)
}

// expiries returns the run and every state that deadlines alone may have caused up to a time. It is
// unknown which sweep or call found them.
func expiries(r run, untilMs int64) []run {
	found := []run{r}
	for i := 0; i < len(found); i++ {
		due := found[i].due(untilMs)
		for n := 1; n <= len(due); n++ {
			next := found[i]
			next.expire(due[:n])
			if !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	return found
}

func (r run) String() string {
	if !r.Exists {
		return "not there"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s, fence %d", r.Status, r.Fence)
	if r.LeaseEnd != leaseGoesOn {
		fmt.Fprintf(&text, " %s", r.LeaseEnd)
	}
	if !terminal(r.Status) {
		fmt.Fprintf(&text, ", claimable from %d to %d", r.ClaimableMinMs, r.ClaimableMaxMs)
	}
	for slot, q := range r.Requests {
		switch {
		case q.open():
			fmt.Fprintf(&text, ", %s open", asked{slot, q.Question, q.DueAtMs})
		case q.Raised:
			fmt.Fprintf(&text, ", r%d %s", slot, q.settled)
		}
	}
	return text.String()
}
