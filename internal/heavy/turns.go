package heavy

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Turns is a semaphore that is fair between callers. The next turn goes to the waiting caller whose turns
// have taken the least time, and within a caller in order of arrival. An idle caller saves up no time: it
// starts level with the others.
type Turns struct {
	total int

	mu   sync.Mutex
	free int
	// callers has every caller that waits, has a turn, or has used more than level.
	callers map[string]*caller
	// waiting are the callers that wait, in the order in which they came. Each has waiters.
	waiting []*caller
	// level is the used time of the caller that got the last turn.
	level time.Duration
}

// caller is one that shares turns with others.
type caller struct {
	name    string
	used    time.Duration
	turns   int
	waiters []*waiter
}

// waiter waits for a turn. The lock of the turns guards had.
type waiter struct {
	turn chan struct{} // closed when it has a turn
	had  bool
}

const (
	// leastCost is what a turn costs at least. It is charged when the turn begins, so that several
	// turns at once are counted, too.
	leastCost = 100 * time.Microsecond
	// manyCallers is how many are remembered before the idle ones are forgotten.
	manyCallers = 1024
)

// NewTurns returns a semaphore with total turns.
func NewTurns(total int) *Turns {
	return &Turns{total: max(total, 1), free: max(total, 1), callers: map[string]*caller{}}
}

// Begin waits for a turn for the account of a context, and returns what ends it. The account is charged
// with the time that the turn took. If the context ends first, the cause of its end is returned.
func (t *Turns) Begin(ctx context.Context) (end func(), err error) {
	account := accountOf(ctx)
	c, err := t.acquire(ctx, account.name)
	if err != nil {
		return nil, err
	}
	began := time.Now() //nolint:forbidigo // a span of this process
	return func() {
		took := time.Since(began) //nolint:forbidigo // as above
		t.release(c, took)
		account.charge(took)
	}, nil
}

func (t *Turns) acquire(ctx context.Context, name string) (*caller, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	c := t.callerOf(name)
	if t.free > 0 {
		t.free--
		t.grant(c)
		t.mu.Unlock()
		return c, nil
	}
	w := &waiter{turn: make(chan struct{})}
	if len(c.waiters) == 0 {
		t.waiting = append(t.waiting, c)
	}
	c.waiters = append(c.waiters, w)
	t.mu.Unlock()
	select {
	case <-w.turn:
		if ctx.Err() == nil {
			return c, nil
		}
	case <-ctx.Done():
	}
	t.leave(c, w)
	return nil, context.Cause(ctx)
}

// callerOf returns a caller, which is level with the others if it was idle. The lock is held.
func (t *Turns) callerOf(name string) *caller {
	c := t.callers[name]
	if c == nil {
		if len(t.callers) >= manyCallers {
			t.forgetIdle()
		}
		c = &caller{name: name}
		t.callers[name] = c
	}
	if c.turns == 0 && len(c.waiters) == 0 {
		c.used = max(c.used, t.level)
	}
	return c
}

// grant gives a caller a turn. The lock is held.
func (t *Turns) grant(c *caller) {
	t.level = max(t.level, c.used)
	c.used += leastCost
	c.turns++
}

// release ends a turn, charges its time, and gives it to the next caller.
func (t *Turns) release(c *caller, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.used += max(took-leastCost, 0)
	c.turns--
	t.free++
	if len(t.waiting) > 0 {
		t.free--
		t.next()
	} else if t.free == t.total {
		clear(t.callers)
		t.level = 0
	}
}

// next gives a turn to the waiting caller that has used least. The lock is held.
func (t *Turns) next() {
	at := 0
	for i, c := range t.waiting {
		if c.used < t.waiting[at].used {
			at = i
		}
	}
	c := t.waiting[at]
	w := c.waiters[0]
	if c.waiters = c.waiters[1:]; len(c.waiters) == 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	}
	t.grant(c)
	w.had = true
	close(w.turn)
}

// leave removes a waiter whose context has ended. A turn granted meanwhile goes to the next caller.
func (t *Turns) leave(c *caller, w *waiter) {
	t.mu.Lock()
	had := w.had
	if !had {
		c.waiters = slices.DeleteFunc(c.waiters, func(other *waiter) bool { return other == w })
		if len(c.waiters) == 0 {
			t.waiting = slices.DeleteFunc(t.waiting, func(other *caller) bool { return other == c })
		}
	}
	t.mu.Unlock()
	if had {
		t.release(c, 0)
	}
}

// forgetIdle forgets callers that have no turn and wait for none. The lock is held.
func (t *Turns) forgetIdle() {
	for name, c := range t.callers {
		if c.turns == 0 && len(c.waiters) == 0 {
			delete(t.callers, name)
		}
	}
}
