package cpulimit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Semaphore limits concurrent work, fairly between callers. The next slot goes to the
// waiting caller that has used the least time, and within a caller in order of arrival. An
// idle caller accumulates no credit: it starts level with the others.
type Semaphore struct {
	total int

	mu   sync.Mutex
	free int
	// idle is closed when no slot is held any more. It is nil unless the semaphore is paused.
	idle chan struct{}
	// callers has every caller that waits, holds a slot, or has used more than level.
	callers map[string]*caller
	// waiting are the callers with waiters, in order of arrival.
	waiting []*caller
	// level is the used time of the caller that got the last slot.
	level time.Duration
}

type caller struct {
	name    string
	used    time.Duration
	slots   int
	waiters []*waiter
}

// waiter waits for a slot. The lock of the semaphore guards ok.
type waiter struct {
	granted chan struct{} // closed when the slot is granted
	ok      bool
}

const (
	// leastCost is the minimum cost of a slot. It is charged at the start, so that it
	// counts when a caller takes several slots at once.
	leastCost = 100 * time.Microsecond
	// manyCallers is the number of known callers from which idle ones are forgotten.
	manyCallers = 1024
)

// NewSemaphore returns a semaphore with total slots.
func NewSemaphore(total int) *Semaphore {
	return &Semaphore{total: max(total, 1), free: max(total, 1), callers: map[string]*caller{}}
}

// Begin waits for a slot for the context's caller and returns a function that releases it.
// The caller is charged the time in between. If the context ends first, Begin returns its
// cause.
func (s *Semaphore) Begin(ctx context.Context) (end func(), err error) {
	account := accountOf(ctx)
	c, err := s.acquire(ctx, account.name)
	if err != nil {
		return nil, err
	}
	began := time.Now() //nolint:forbidigo // a span of this process
	return func() {
		took := time.Since(began) //nolint:forbidigo // as above
		s.release(c, took)
		account.charge(took)
	}, nil
}

// Pause waits until no slot is held, ahead of the callers that wait, and grants none until resume is called.
// If the context ends first, it resumes and returns the context's cause. Only one pause at a time is allowed.
func (s *Semaphore) Pause(ctx context.Context) (resume func(), err error) {
	idle := make(chan struct{})
	s.mu.Lock()
	s.idle = idle
	s.settle()
	s.mu.Unlock()
	select {
	case <-idle:
		return s.resume, nil
	case <-ctx.Done():
		s.resume()
		return nil, context.Cause(ctx)
	}
}

func (s *Semaphore) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = nil
	s.settle()
}

func (s *Semaphore) acquire(ctx context.Context, name string) (*caller, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	c := s.callerOf(name)
	if s.free > 0 && s.idle == nil {
		s.free--
		s.grant(c)
		s.mu.Unlock()
		return c, nil
	}
	w := &waiter{granted: make(chan struct{})}
	if len(c.waiters) == 0 {
		s.waiting = append(s.waiting, c)
	}
	c.waiters = append(c.waiters, w)
	s.mu.Unlock()
	select {
	case <-w.granted:
		if ctx.Err() == nil {
			return c, nil
		}
	case <-ctx.Done():
	}
	s.leave(c, w)
	return nil, context.Cause(ctx)
}

// callerOf returns a caller by name, level with the others if it was idle. Requires the
// lock.
func (s *Semaphore) callerOf(name string) *caller {
	c := s.callers[name]
	if c == nil {
		if len(s.callers) >= manyCallers {
			s.forgetIdle()
		}
		c = &caller{name: name}
		s.callers[name] = c
	}
	if c.slots == 0 && len(c.waiters) == 0 {
		c.used = max(c.used, s.level)
	}
	return c
}

// grant gives a slot to a caller. Requires the lock.
func (s *Semaphore) grant(c *caller) {
	s.level = max(s.level, c.used)
	c.used += leastCost
	c.slots++
}

// release frees a slot, charges its time, and passes the slot on.
func (s *Semaphore) release(c *caller, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.used += max(took-leastCost, 0)
	c.slots--
	s.free++
	s.settle()
}

// settle passes the free slots on. Requires the lock.
func (s *Semaphore) settle() {
	if s.idle != nil {
		if s.free == s.total {
			close(s.idle)
		}
		return
	}
	for s.free > 0 && len(s.waiting) > 0 {
		s.free--
		s.next()
	}
	if s.free == s.total {
		clear(s.callers)
		s.level = 0
	}
}

// next grants a free slot to the waiting caller that has used the least time. Requires the
// lock.
func (s *Semaphore) next() {
	at := 0
	for i, c := range s.waiting {
		if c.used < s.waiting[at].used {
			at = i
		}
	}
	c := s.waiting[at]
	w := c.waiters[0]
	if c.waiters = c.waiters[1:]; len(c.waiters) == 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.grant(c)
	w.ok = true
	close(w.granted)
}

// leave removes a waiter whose context has ended. A slot granted in the meantime goes to
// the next caller.
func (s *Semaphore) leave(c *caller, w *waiter) {
	s.mu.Lock()
	granted := w.ok
	if !granted {
		c.waiters = slices.DeleteFunc(c.waiters, func(other *waiter) bool { return other == w })
		if len(c.waiters) == 0 {
			s.waiting = slices.DeleteFunc(s.waiting, func(other *caller) bool { return other == c })
		}
	}
	s.mu.Unlock()
	if granted {
		s.release(c, 0)
	}
}

// forgetIdle forgets callers that hold no slot and wait for none. Requires the lock.
func (s *Semaphore) forgetIdle() {
	for name, c := range s.callers {
		if c.slots == 0 && len(c.waiters) == 0 {
			delete(s.callers, name)
		}
	}
}
