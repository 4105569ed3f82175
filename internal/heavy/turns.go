package heavy

import (
	"context"
	"slices"
	"sync"
)

// turns are had by so many at once. Whoever waits is served by caller: each caller who has somebody
// waiting gets one turn, and then the next caller; of one caller's, the first who came.
type turns struct {
	mu   sync.Mutex
	free int
	// queues has those who wait, by caller, in the order in which callers get their next turn. None
	// is empty.
	queues []*queue
}

// queue has those of one caller who wait, in the order in which they came.
type queue struct {
	caller  string
	waiting []*waiter
}

// waiter waits for a turn. The lock of the turns guards had.
type waiter struct {
	turn chan struct{} // closed when it has a turn
	had  bool
}

// acquire waits for a turn of a caller. When the context ends before that, it returns the context's
// error and has no turn.
func (t *turns) acquire(ctx context.Context, caller string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	w := &waiter{turn: make(chan struct{})}
	q := t.queueOf(caller)
	q.waiting = append(q.waiting, w)
	t.mu.Unlock()
	select {
	case <-w.turn:
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	}
	t.leave(caller, w)
	return ctx.Err()
}

// release gives a turn back, or to whoever is next.
func (t *turns) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queues) == 0 {
		t.free++
		return
	}
	q := t.queues[0]
	next := q.waiting[0]
	t.queues, q.waiting = t.queues[1:], q.waiting[1:]
	if len(q.waiting) > 0 {
		t.queues = append(t.queues, q)
	}
	next.had = true
	close(next.turn)
}

// leave ends the wait of one whose context has ended. A turn that it has meanwhile goes on.
func (t *turns) leave(caller string, w *waiter) {
	t.mu.Lock()
	had := w.had
	if !had {
		q := t.queueOf(caller)
		q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == w })
		t.queues = slices.DeleteFunc(t.queues, func(q *queue) bool { return len(q.waiting) == 0 })
	}
	t.mu.Unlock()
	if had {
		t.release()
	}
}

// queueOf returns the queue of a caller, which it makes if there is none. The lock is held.
func (t *turns) queueOf(caller string) *queue {
	for _, q := range t.queues {
		if q.caller == caller {
			return q
		}
	}
	q := &queue{caller: caller}
	t.queues = append(t.queues, q)
	return q
}
