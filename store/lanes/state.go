package lanes

import "time"

// State is the current state of a lane.
type State struct {
	Lane int
	// Waiting is how many items wait for the next batch, without items of locked keys.
	Waiting int
	// Busy is how long the current batch has been in flight. Oldest is the age of the oldest
	// item in that batch or waiting for a locked key. Both are 0 if there is none.
	Busy, Oldest time.Duration
}

// States returns the current state of each lane.
func (s *Lanes[W]) States() []State {
	now := time.Now()
	since := func(nanoseconds int64) time.Duration {
		if nanoseconds == 0 {
			return 0
		}
		return max(now.Sub(time.Unix(0, nanoseconds)), 0)
	}
	states := make([]State, len(s.lanes))
	for i, l := range s.lanes {
		states[i] = State{Lane: l.number, Waiting: len(l.arrivals) + int(l.waiting.Load()), Busy: l.busy(), Oldest: since(l.oldest.Load())}
	}
	return states
}

// Stalled returns a lane whose batch has been in flight for Options.StallAfter or longer.
func (s *Lanes[W]) Stalled() (lane int, busy time.Duration, stalled bool) {
	for _, l := range s.lanes {
		if busy := l.busy(); busy >= s.options.StallAfter {
			return l.number, busy, true
		}
	}
	return 0, 0, false
}
