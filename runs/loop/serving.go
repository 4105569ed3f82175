package loop

import (
	"sync"
	"time"
)

// asleepAfter is how much further the wall clock must have gone than the time awake for the machine to have been asleep.
const asleepAfter = 5 * time.Second

// serving measures how long workers have been able to reach the service. It begins again after the machine was
// asleep: workers on it slept too, and others got no reply. A wall clock that is set forward looks the same.
type serving struct {
	// clock returns the wall time, and the time since the start that the machine was awake.
	clock func() (wall time.Time, awake time.Duration)

	mu        sync.Mutex
	from      time.Duration // of the time awake
	lastWall  time.Time
	lastAwake time.Duration
}

func newServing() *serving {
	began := time.Now() //nolint:forbidigo // a duration in this process, independent of the store's clock
	return &serving{
		clock: func() (time.Time, time.Duration) {
			now := time.Now() //nolint:forbidigo // as above
			return now.Round(0), now.Sub(began)
		},
		lastWall: began.Round(0),
	}
}

// lasted returns for how long. Each pass must call it, because it compares the clocks with those of the last call.
func (s *serving) lasted() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, awake := s.clock()
	if wall.Sub(s.lastWall)-(awake-s.lastAwake) > asleepAfter {
		s.from = awake
	}
	s.lastWall, s.lastAwake = wall, awake
	return awake - s.from
}
