package committer

import "time"

// LaneState is the current state of a lane.
type LaneState struct {
	Lane int
	// Waiting is how many commands wait for the next batch, without commands of locked sessions.
	Waiting int
	// Busy is how long the current batch has been in flight. Oldest is the age of the oldest
	// command in that batch or waiting for a locked session. Both are 0 if there is none.
	Busy, Oldest time.Duration
}

// Lanes returns the current state of each lane.
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

// PoolState describes the use of one kind of connections of an engine. Waits and Waited count how
// often and how long callers waited for a connection since the start. They are 0 if the engine does
// not count them.
type PoolState struct {
	Name             string
	InUse, Idle, Max int
	Waits            int64
	Waited           time.Duration
}
