package door

import (
	"maps"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// Subscribers forwards notices to subscribed functions. The zero value has no subscribers. It is
// safe for concurrent use.
type Subscribers struct {
	mu   sync.RWMutex
	next int
	list map[int]func(reads.Notice)
}

// Subscribe implements runs.Store. The function runs on the commit path and must not block. It may
// be called once more while unsubscribe runs. A notice without a session means that notices may
// have been lost: subscribers then read the rows again.
func (s *Subscribers) Subscribe(notify func(reads.Notice)) (unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[int]func(reads.Notice){}
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

// Publish calls every subscriber without holding the lock, so that a subscriber may unsubscribe
// during the call.
func (s *Subscribers) Publish(notice reads.Notice) {
	s.mu.RLock()
	list := slices.Collect(maps.Values(s.list))
	s.mu.RUnlock()
	for _, notify := range list {
		notify(notice)
	}
}
