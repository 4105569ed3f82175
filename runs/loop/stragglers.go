package loop

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

const (
	// patience is how long a pass waits for an item. A command on a locked session takes
	// seconds, and must not delay the other items.
	patience = 50 * time.Millisecond
	// stragglersPerSlot bounds the background items per concurrent item of a pass. Beyond that,
	// a pass waits.
	stragglersPerSlot = 8
)

// stragglers processes the items of a loop. An item that takes longer than [patience] continues
// in the background, so it delays only itself. The zero value is ready to use and safe for
// concurrent use.
type stragglers[Item comparable] struct {
	group   sync.WaitGroup
	mu      sync.Mutex
	running map[Item]bool
	late    tally
}

// tally counts finished items.
type tally struct {
	done, failed int
	// first is the first failure, or one that wraps runs.ErrClosed.
	first error
}

func (t *tally) add(err error) {
	if err == nil {
		t.done++
		return
	}
	t.failed++
	if t.first == nil || errors.Is(err, runs.ErrClosed) && !errors.Is(t.first, runs.ErrClosed) {
		t.first = err
	}
}

// items returns the background items.
func (s *stragglers[Item]) items() map[Item]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.running)
}

// ended returns the results of background items, once each.
func (s *stragglers[Item]) ended() tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.late
	s.late = tally{}
	return late
}

// wait waits for every item.
func (s *stragglers[Item]) wait() { s.group.Wait() }

// begin registers a background item. It returns false if there are too many.
func (s *stragglers[Item]) begin(item Item, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) >= most {
		return false
	}
	if s.running == nil {
		s.running = map[Item]bool{}
	}
	s.running[item] = true
	return true
}

func (s *stragglers[Item]) end(item Item, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, item)
	s.late.add(err)
}

// Who waits for an item.
const (
	withPass int32 = iota
	afterPass
	over
)

// each calls do with each item, concurrently, and returns once every call has ended or takes
// long. The tally has the ended calls. A closed store cancels the context of the remaining
// calls; an item that has not begun has then failed.
func (s *stragglers[Item]) each(ctx context.Context, concurrency int, items []Item, do func(context.Context, Item) error) tally {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex
	var ended tally
	var left atomic.Int64 // the unfinished calls, and this one
	left.Store(int64(len(items)) + 1)
	leave := func(calls int) {
		if left.Add(-int64(calls)) == 0 {
			cancel()
		}
	}
	defer leave(1)
	slots := make(chan struct{}, concurrency)
	for i, item := range items {
		slots <- struct{}{}
		mu.Lock()
		closed := ended.first
		mu.Unlock()
		if errors.Is(closed, runs.ErrClosed) {
			mu.Lock()
			for range items[i:] {
				ended.add(closed)
			}
			mu.Unlock()
			leave(len(items) - i)
			<-slots
			break
		}
		s.group.Go(func() {
			var state atomic.Int32
			slow := time.AfterFunc(patience, func() {
				if state.Load() == withPass && s.begin(item, stragglersPerSlot*concurrency) {
					if state.CompareAndSwap(withPass, afterPass) {
						<-slots
						return
					}
					s.forget(item)
				}
			})
			err := doItem(ctx, item, do)
			slow.Stop()
			if errors.Is(err, runs.ErrClosed) {
				cancel()
			}
			if state.Swap(over) == afterPass {
				s.end(item, err)
			} else {
				mu.Lock()
				ended.add(err)
				mu.Unlock()
				<-slots
			}
			leave(1)
		})
	}
	for range concurrency {
		slots <- struct{}{} // wait for the holder of each slot
	}
	mu.Lock()
	defer mu.Unlock()
	return ended
}

// forget undoes begin for an item that has ended meanwhile.
func (s *stragglers[Item]) forget(item Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, item)
}
