package stream

import (
	"sync"
	"time"
)

// silenceSlots is how many ticks a round has: the silence itself is 20 of them, one
// is the tick that is already under way, and one is the slot that falls now.
const silenceSlots = 22

// silence tells followers when nothing was sent for a while, with one timer for all
// of them: who waits from the same tick on shares a channel.
type silence struct {
	tick time.Duration

	mu     sync.Mutex
	slots  [silenceSlots]chan struct{}
	at     int
	ending chan struct{}
}

// after returns a channel that is closed after 20 to 21 ticks.
func (s *silence) after() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := (s.at + silenceSlots - 1) % silenceSlots
	if s.slots[slot] == nil {
		s.slots[slot] = make(chan struct{})
	}
	return s.slots[slot]
}

func (s *silence) start() {
	ending := make(chan struct{})
	s.ending = ending
	go func() {
		ticker := time.NewTicker(s.tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.turn()
			case <-ending:
				return
			}
		}
	}()
}

func (s *silence) stop() { close(s.ending) }

func (s *silence) turn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = (s.at + 1) % silenceSlots
	if due := s.slots[s.at]; due != nil {
		close(due)
		s.slots[s.at] = nil
	}
}
