package committer

import (
	"maps"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/runs"
)

// Subscribers pass notices on to whoever asked for them. The zero value has none. They
// are safe for concurrent use.
type Subscribers struct {
	mu   sync.RWMutex
	next int
	list map[int]func(runs.Notice)
}

// Subscribe implements runs.Store. The function is called on the commit path: it must
// not block. It may be called once more while unsubscribe runs. A notice without a
// session says that hints may have been lost: whoever waits for something reads the rows.
func (s *Subscribers) Subscribe(notify func(runs.Notice)) (unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[int]func(runs.Notice){}
	}
	id := s.next
	s.next++
	s.list[id] = notify
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.list, id)
	}
}

// Publish calls every subscriber without holding the lock, so that one may unsubscribe
// from within.
func (s *Subscribers) Publish(notice runs.Notice) {
	s.mu.RLock()
	list := slices.Collect(maps.Values(s.list))
	s.mu.RUnlock()
	for _, notify := range list {
		notify(notice)
	}
}
