package sqlite

import (
	"maps"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/runs"
)

// notices tells the subscribers what was committed.
type notices struct {
	mu          sync.RWMutex
	subscribers map[int]func(runs.Notice)
	next        int
}

// Hears reports that all commits are heard of: no other process makes any.
func (s *Store) Hears() bool { return true }

// Subscribe implements [runs.Store]. The function is called on the goroutine that
// commits and must return at once; it may be called once more while unsubscribe
// runs.
func (s *Store) Subscribe(subscriber func(runs.Notice)) (unsubscribe func()) {
	n := &s.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[int]func(runs.Notice){}
	}
	id := n.next
	n.next++
	n.subscribers[id] = subscriber
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers, id)
	}
}

// publish is called on the goroutine that commits, after the callers have been
// answered.
func (n *notices) publish(notice runs.Notice) {
	n.mu.RLock()
	subscribers := slices.Collect(maps.Values(n.subscribers))
	n.mu.RUnlock()
	for _, subscriber := range subscribers {
		subscriber(notice)
	}
}
