package stream

import (
	"sync"
	"time"
)

// idleSlots is the number of ticks in a round of the timer: 20 for the idle time, one for the tick
// that has already begun, and one for the slot that fires now.
const idleSlots = 22

// idleTimer wakes followers that were idle for a while. All followers share it: those that begin to
// wait within one tick share a channel.
type idleTimer struct {
	tick time.Duration

	mu    sync.Mutex
	slots [idleSlots]chan struct{}
	at    int
	ended chan struct{}
}

// after returns a channel that is closed after 20 to 21 ticks.
func (t *idleTimer) after() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := (t.at + idleSlots - 1) % idleSlots
	if t.slots[slot] == nil {
		t.slots[slot] = make(chan struct{})
	}
	return t.slots[slot]
}

func (t *idleTimer) start() {
	ended := make(chan struct{})
	t.ended = ended
	go func() {
		ticker := time.NewTicker(t.tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				t.fire()
			case <-ended:
				return
			}
		}
	}()
}

func (t *idleTimer) stop() { close(t.ended) }

func (t *idleTimer) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = (t.at + 1) % idleSlots
	if due := t.slots[t.at]; due != nil {
		close(due)
		t.slots[t.at] = nil
	}
}
