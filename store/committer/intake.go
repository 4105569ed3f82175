package committer

import (
	"slices"
	"time"
)

const (
	// share is the cost that one caller may add to a batch next to other callers. One call is
	// always enough for a batch, and a call that costs more than a share gets a batch without
	// others: they would all wait for it.
	share = 32
	// sharedFor is how long a caller that is alone keeps to its share after another one was served:
	// a call that arrives waits for the batch in flight.
	sharedFor = time.Second
)

// intake holds the calls that a lane has received but not started. The next call belongs to the
// caller with the lowest cost since the intake was last empty. Each caller's calls stay in order.
type intake struct {
	callers map[string]*queue
	// waiting are the callers with queued calls, in order of arrival.
	waiting []*queue
	// level is the cost of the caller that was served last. A caller that was idle starts there.
	level, calls int
	// now is when the batch being collected began, and taken counts its calls.
	now   time.Time
	taken int
	// last is the caller that was served last, at lastAt. It counts as alone from sharedUntil.
	last                string
	lastAt, sharedUntil time.Time
}

// queue holds the calls of one caller.
type queue struct {
	caller string
	calls  []*call
	used   int
	// part is the cost of the caller's part of the batch being collected.
	part int
}

func (i *intake) push(arriving *call) {
	if i.callers == nil {
		i.callers = map[string]*queue{}
	}
	q := i.callers[arriving.caller]
	if q == nil {
		q = &queue{caller: arriving.caller}
		i.callers[arriving.caller] = q
	}
	if len(q.calls) == 0 {
		q.used = max(q.used, i.level)
		i.waiting = append(i.waiting, q)
	}
	q.calls = append(q.calls, arriving)
	i.calls++
}

// begin starts a new batch.
func (i *intake) begin(now time.Time) {
	i.now, i.taken = now, 0
	for _, q := range i.callers {
		q.part = 0
	}
}

// shared reports whether the batch serves several callers, or delays one that may arrive.
func (i *intake) shared() bool { return len(i.waiting) > 1 || i.now.Before(i.sharedUntil) }

// next returns the queue to serve next, or nil if no more calls may join the batch.
func (i *intake) next() *queue {
	shared := i.shared()
	var next *queue
	for _, q := range i.waiting {
		if (next == nil || q.used < next.used) && (!shared || i.taken == 0 || q.part+cost(q.calls[0].size) <= share) {
			next = q
		}
	}
	return next
}

// pop removes the first call of a queue.
func (i *intake) pop(q *queue) {
	if i.last != q.caller {
		i.last, i.sharedUntil = q.caller, i.lastAt.Add(sharedFor)
	}
	i.lastAt = i.now
	i.level = max(i.level, q.used)
	of := cost(q.calls[0].size)
	q.used, q.part, i.taken = q.used+of, q.part+of, i.taken+1
	q.calls[0] = nil
	q.calls = q.calls[1:]
	i.calls--
	switch {
	case i.calls == 0:
		clear(i.callers)
		i.waiting, i.level = i.waiting[:0], 0
	case len(q.calls) == 0:
		i.waiting = slices.DeleteFunc(i.waiting, func(other *queue) bool { return other == q })
		if len(i.callers) > maxLockedCalls {
			i.forgetIdle()
		}
	}
}

func (i *intake) forgetIdle() {
	for name, q := range i.callers {
		if len(q.calls) == 0 {
			delete(i.callers, name)
		}
	}
}
