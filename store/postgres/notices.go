package postgres

import (
	"maps"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/runs"
)

// subscribers are told of notices, one after the other.
type subscribers struct {
	mu   sync.RWMutex
	next int
	list map[int]func(runs.Notice)
}

// Subscribe implements runs.Store. The function is called on the commit path and
// must not block. A notice without a session says that hints may have been lost:
// whoever waits for something looks for itself.
func (s *Store) Subscribe(tell func(runs.Notice)) (unsubscribe func()) {
	return s.subscribers.add(tell)
}

func (s *subscribers) add(tell func(runs.Notice)) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[int]func(runs.Notice){}
	}
	id := s.next
	s.next++
	s.list[id] = tell
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.list, id)
	}
}

// tell calls every subscriber without holding the lock, so that one may take its
// leave from within.
func (s *subscribers) tell(notice runs.Notice) {
	s.mu.RLock()
	list := slices.Collect(maps.Values(s.list))
	s.mu.RUnlock()
	for _, tell := range list {
		tell(notice)
	}
}

// announce tells this process of a commit of its own, and the others soon after.
func (s *Store) announce(notice runs.Notice) {
	s.subscribers.tell(notice)
	if s.notifier != nil {
		s.notifier.add(notice)
	}
}

// startNotices starts telling other replicas and, where the server itself can be
// reached, hearing of them.
func (s *Store) startNotices(options Options) error {
	replica := runs.NewID("replica")
	s.notifier = startNotifier(s.lanes, replica, options.Logger)
	if options.ListenURL == "" {
		return nil
	}
	config, err := connConfig(options.ListenURL)
	if err != nil {
		return err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "holdpoint"
	}
	s.listener = startListener(config, replica, s.subscribers.tell, options.Logger)
	return nil
}
