package lanes

import (
	"sync/atomic"
	"time"
)

// spreadWindow is how many batches are averaged before the number of lanes may change. It changes
// if the mean number of items is at most fewItems or at least manyItems. With one lane and
// 24 callers a batch has about 12 items. One lane then has the same throughput as two, with two
// thirds of the CPU in Postgres. With 64 callers a second lane adds half the throughput again. See
// docs/benchmark-log.md.
const (
	spreadWindow  = 256
	fewItems      = 6
	manyItems     = 18
	spreadStalled = 250 * time.Millisecond
)

// spread decides how many lanes are used: one or all. One lane collects the most items into each
// batch. More lanes use more cores, once each has enough items to collect.
//
// A key may change its lane when that number changes. Its items may then be in two lanes for a
// moment. The lock on its row keeps them in order, as it does for two processes.
type spread struct {
	lanes int
	// all reports whether every lane is used.
	all            atomic.Bool
	batches, items atomic.Int64
}

// lane returns the lane number for the hash of a key.
func (s *spread) lane(hash uint64) uint64 {
	if !s.all.Load() {
		return 0
	}
	return hash % uint64(s.lanes)
}

// note counts a batch. After spreadWindow batches it changes the number of lanes if they were large
// or small.
func (s *spread) note(items int) {
	sum := s.items.Add(int64(items))
	if s.batches.Add(1) != spreadWindow {
		return
	}
	s.items.Store(0)
	s.batches.Store(0)
	switch mean := sum / spreadWindow; {
	case mean >= manyItems:
		s.all.Store(true)
	case mean <= fewItems:
		s.all.Store(false)
	}
}

// stalled uses all lanes if the first one has been busy so long that other keys would wait for
// it.
func (s *spread) stalled(busy time.Duration) {
	if busy >= spreadStalled {
		s.all.Store(true)
	}
}
