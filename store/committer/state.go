package committer

import "time"

// LaneState is what a lane is at.
type LaneState struct {
	Lane int
	// Waiting is how many commands wait for the next batch, besides those of locked sessions.
	Waiting int
	// Busy is how long the batch in flight has been so. Oldest is how long ago the oldest
	// command came of that batch and of those that wait for a locked session. They are 0 when
	// there is none.
	Busy, Oldest time.Duration
}

// Lanes returns what each lane is at.
func (c *Committer) Lanes() []LaneState {
	now := time.Now()
	since := func(nanoseconds int64) time.Duration {
		if nanoseconds == 0 {
			return 0
		}
		return max(now.Sub(time.Unix(0, nanoseconds)), 0)
	}
	states := make([]LaneState, len(c.lanes))
	for i, l := range c.lanes {
		states[i] = LaneState{Lane: l.number, Waiting: len(l.calls) + int(l.waiting.Load()), Busy: c.busy(l), Oldest: since(l.oldest.Load())}
	}
	return states
}

// PoolState says how an engine's connections of one kind are used. Waits and Waited count since
// the start how often, and for how long, somebody had to wait for one; they are 0 where an engine
// does not count them.
type PoolState struct {
	Name             string
	InUse, Idle, Max int
	Waits            int64
	Waited           time.Duration
}
