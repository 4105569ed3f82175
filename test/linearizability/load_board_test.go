//go:build unix && faults

package linearizability

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/api"
)

// A run is left alone after this many calls, or calls of unknown outcome: the checker must try each
// of the latter at every position.
const (
	maxCalls        = 45
	maxUnknown      = 6
	callsAfterwards = 6
)

// board is what the callers share about a run, so that several of them make the same call at once.
// It may be out of date.
type board struct {
	runID, sessionID, agentID string
	// idle: the claimant of the run does little with it, so that leases expire.
	idle bool

	mu      sync.Mutex
	status  api.Status // empty before the run exists
	holders []holder   // by fence
	asked   []asked    // all raised requests, including failed attempts
	settled [maxSlots]bool
	keys    int
	calls   int
	unknown int
	// afterwards counts the calls after the run has ended.
	afterwards int
}

// holder is a claim that a caller was given.
type holder struct {
	fence int64
	round int
	// next is the suspension that this holder would make; the same each time.
	next []asked
	// other has the suspension id of next and raises something else.
	other []asked
}

func newBoard(number int) *board {
	return &board{
		runID: fmt.Sprintf("run-%d", number), sessionID: fmt.Sprintf("session-%d", number), agentID: fmt.Sprintf("agent-%d", number),
		idle: number%4 == 0,
		keys: 1, // of the call that creates the run
	}
}

// note records the reply to a call, and returns whether the run is to be left alone.
func (b *board) note(out output) (done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if out.Nothing {
		return false
	}
	b.calls++
	switch {
	case out.Unknown:
		b.unknown++
	case out.Status != "":
		b.status = out.Status
	}
	if terminal(b.status) {
		b.afterwards++
	}
	return b.calls >= maxCalls || b.unknown >= maxUnknown || b.afterwards >= callsAfterwards
}

// claimed remembers a claim.
func (b *board) claimed(h holder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holders = append(b.holders, h)
}

// roundAfter returns the number of the next suspension for a caller with this reply.
func roundAfter(out output) int {
	for slot := maxSlots - 1; slot >= 0; slot-- {
		if out.Settled[slot].Outcome != "" {
			return slot/requestsPerRound + 1
		}
	}
	return 0
}

// nextKey returns the number of a new idempotency key, 0 when there are none left.
func (b *board) nextKey() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys >= 63 {
		return 0
	}
	b.keys++
	return b.keys
}

// raises records the requests that a suspension is about to raise.
func (b *board) raises(requests []asked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) == 0 || b.asked[len(b.asked)-1].Slot < requests[0].Slot {
		b.asked = append(b.asked, requests...)
	}
}

// pickHolder returns the newest claim, or now and then an older one.
func (b *board) pickHolder(random *rand.Rand) (h holder, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.holders) == 0 {
		return holder{}, false
	}
	if random.IntN(6) == 0 {
		return b.holders[random.IntN(len(b.holders))], true
	}
	newest := b.holders[0]
	for _, one := range b.holders {
		if one.fence > newest.fence {
			newest = one
		}
	}
	return newest, true
}

// pickReplaced returns a claim that is not the newest.
func (b *board) pickReplaced(random *rand.Rand) (h holder, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	older := slices.SortedFunc(slices.Values(b.holders), func(a, b holder) int { return cmp.Compare(a.fence, b.fence) })
	if len(older) < 2 {
		return holder{}, false
	}
	return older[random.IntN(len(older)-1)], true
}

// pickRequest returns a request of the last suspension, most often one that seems open,
// and now and then any other.
func (b *board) pickRequest(random *rand.Rand) (picked asked, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) == 0 {
		return asked{}, false
	}
	if random.IntN(8) == 0 {
		return b.asked[random.IntN(len(b.asked))], true
	}
	last := b.asked[len(b.asked)-1]
	if other := len(b.asked) - 2; other >= 0 && b.asked[other].Slot == last.Slot-1 && last.Slot%requestsPerRound == 1 {
		if b.settled[last.Slot] || !b.settled[last.Slot-1] && random.IntN(2) == 0 {
			return b.asked[other], true
		}
	}
	return last, true
}

// decided remembers that a request is settled.
func (b *board) decided(slot int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled[slot] = true
}

func (b *board) lastStatus() api.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

func (b *board) raised(slot int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.asked, func(one asked) bool { return one.Slot == slot })
}
