package loop

import (
	"sync"
	"time"
)

// backoff delays each failed item until its next try, without delaying the others. The zero
// value is ready to use and safe for concurrent use.
type backoff[Item comparable] struct {
	mu     sync.Mutex
	paused map[Item]pausedItem
}

type pausedItem struct {
	failures int
	until    time.Time
}

// forgetAfter is how long after its delay an untried item is forgotten: another replica has
// handled it, or it was finished.
const forgetAfter = 2 * lastPause

// active returns the delayed items.
func (b *backoff[Item]) active() map[Item]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, active := time.Now(), map[Item]bool{} //nolint:forbidigo // only says when to check again
	for item, paused := range b.paused {
		switch {
		case now.Before(paused.until):
			active[item] = true
		case now.Sub(paused.until) > forgetAfter:
			delete(b.paused, item)
		}
	}
	return active
}

// failed lengthens the delay of an item.
func (b *backoff[Item]) failed(item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused == nil {
		b.paused = map[Item]pausedItem{}
	}
	failures := b.paused[item].failures + 1
	until := time.Now().Add(pauseAfter(failures)) //nolint:forbidigo // only says when to check again
	b.paused[item] = pausedItem{failures, until}
}

// succeeded forgets an item.
func (b *backoff[Item]) succeeded(item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.paused, item)
}

// pausedPoll bounds the sleep of a loop with delayed items: they are still due, so the next
// deadline of the others is unknown.
const pausedPoll = 250 * time.Millisecond
