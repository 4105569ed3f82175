package committer

import (
	"sync/atomic"
	"time"
)

// How many batches are looked at before sessions may be spread otherwise, and the means of
// commands in a batch between which nothing changes. With one lane and 24 callers a batch has about
// 12 commands; there a wait costs Postgres two thirds of the CPU that it costs with two, and
// as many are done. With 64 callers a second lane does half as many again. See docs/benchmark-log.md.
const (
	spreadWindow  = 256
	fewCommands   = 6
	manyCommands  = 18
	spreadStalled = 250 * time.Millisecond
)

// spread says over how many lanes sessions go. One lane gathers the most commands into a
// transaction; further lanes keep more cores at work once each has enough to gather. So there
// are one or all.
//
// A session changes its lane when that number changes. For a moment commands of it may be in two
// lanes, which the lock on its row orders as it does those of two processes.
type spread struct {
	lanes int
	// all is 1 while every lane is used. generation counts how often that changed: what a lane
	// remembers from before may have been decided anew by another.
	all, generation   atomic.Int64
	batches, commands atomic.Int64
}

// lane returns the number of the lane of a session with this hash.
func (s *spread) lane(hash uint64) uint64 {
	if s.all.Load() == 0 {
		return 0
	}
	return hash % uint64(s.lanes)
}

// note counts a batch, and spreads the sessions otherwise when the last ones were large or small.
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

// stalled uses all lanes when the first one has been busy for so long that the sessions of others
// would wait for it.
func (s *spread) stalled(busy time.Duration) {
	if busy >= spreadStalled {
		s.set(1)
	}
}

func (s *spread) set(all int64) {
	if s.all.CompareAndSwap(1-all, all) {
		s.generation.Add(1)
	}
}
