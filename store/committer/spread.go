package committer

import (
	"sync/atomic"
	"time"
)

// spreadWindow is how many batches are averaged before the number of lanes may change. It changes
// if the mean number of commands is at most fewCommands or at least manyCommands. With one lane and
// 24 callers a batch has about 12 commands. One lane then has the same throughput as two, with two
// thirds of the CPU in Postgres. With 64 callers a second lane adds half the throughput again. See
// docs/benchmark-log.md.
const (
	spreadWindow  = 256
	fewCommands   = 6
	manyCommands  = 18
	spreadStalled = 250 * time.Millisecond
)

// spread decides how many lanes are used: one or all. One lane collects the most commands into each
// transaction. More lanes use more cores, once each has enough commands to collect.
//
// A session may change its lane when that number changes. Its commands may then be in two lanes for
// a moment. The lock on its row keeps them in order, as it does for two processes.
type spread struct {
	lanes int
	// all is 1 while every lane is used.
	all               atomic.Int64
	batches, commands atomic.Int64
}

// lane returns the lane number for the hash of a session.
func (s *spread) lane(hash uint64) uint64 {
	if s.all.Load() == 0 {
		return 0
	}
	return hash % uint64(s.lanes)
}

// note counts a batch. After spreadWindow batches it changes the number of lanes if they were large
// or small.
func (s *spread) note(commands int) {
	sum := s.commands.Add(int64(commands))
	if s.batches.Add(1) != spreadWindow {
		return
	}
	s.commands.Store(0)
	s.batches.Store(0)
	switch mean := sum / spreadWindow; {
	case mean >= manyCommands:
		s.set(1)
	case mean <= fewCommands:
		s.set(0)
	}
}

// stalled uses all lanes if the first one has been busy so long that other sessions would wait for
// it.
func (s *spread) stalled(busy time.Duration) {
	if busy >= spreadStalled {
		s.set(1)
	}
}

func (s *spread) set(all int64) {
	s.all.Store(all)
}
