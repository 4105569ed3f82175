package lanes

import (
	"slices"
	"time"
)

const (
	// share is the cost that one caller may add to a batch next to other callers. An item that costs
	// more than a share is only ever the first of a batch with other callers.
	share = 32
	// sharedFor is how long a caller that is alone keeps to its share after another one was served:
	// an item that arrives waits for the batch in flight.
	sharedFor = time.Second
)

// intake holds the items that a lane has received but not started. The next item belongs to the
// caller with the lowest cost since the intake was last empty. Each caller's items stay in order.
type intake[W Work] struct {
	callers map[string]*queue[W]
	// waiting are the callers with queued items, in order of arrival.
	waiting []*queue[W]
	// level is the cost of the caller that was served last. A caller that was idle starts there.
	level, items int
	// now is when the batch being collected began, and taken counts its items.
	now   time.Time
	taken int
	// last is the caller that was served last, at lastAt. It counts as alone from sharedUntil.
	last                string
	lastAt, sharedUntil time.Time
}

// queue holds the items of one caller.
type queue[W Work] struct {
	caller string
	items  []W
	used   int
	// part is the cost of the caller's part of the batch being collected.
	part int
}

func (i *intake[W]) push(arriving W) {
	if i.callers == nil {
		i.callers = map[string]*queue[W]{}
	}
	caller := arriving.item().Caller
	q := i.callers[caller]
	if q == nil {
		q = &queue[W]{caller: caller}
		i.callers[caller] = q
	}
	if len(q.items) == 0 {
		q.used = max(q.used, i.level)
		i.waiting = append(i.waiting, q)
	}
	q.items = append(q.items, arriving)
	i.items++
}

// begin starts a new batch.
func (i *intake[W]) begin(now time.Time) {
	i.now, i.taken = now, 0
	for _, q := range i.callers {
		q.part = 0
	}
}

// shared reports whether the batch serves several callers, or delays one that may arrive.
func (i *intake[W]) shared() bool { return len(i.waiting) > 1 || i.now.Before(i.sharedUntil) }

// next returns the queue to serve next, or nil if no more items may join the batch.
func (i *intake[W]) next() *queue[W] {
	shared := i.shared()
	var next *queue[W]
	for _, q := range i.waiting {
		if (next == nil || q.used < next.used) && (!shared || i.taken == 0 || q.part+q.items[0].item().Size.Cost() <= share) {
			next = q
		}
	}
	return next
}

// pop removes the first item of a queue.
func (i *intake[W]) pop(q *queue[W]) {
	if i.last != q.caller {
		i.last, i.sharedUntil = q.caller, i.lastAt.Add(sharedFor)
	}
	i.lastAt = i.now
	i.level = max(i.level, q.used)
	of := q.items[0].item().Size.Cost()
	q.used, q.part, i.taken = q.used+of, q.part+of, i.taken+1
	var none W
	q.items[0] = none
	q.items = q.items[1:]
	i.items--
	switch {
	case i.items == 0:
		clear(i.callers)
		i.waiting, i.level = i.waiting[:0], 0
	case len(q.items) == 0:
		i.waiting = slices.DeleteFunc(i.waiting, func(other *queue[W]) bool { return other == q })
		if len(i.callers) > maxLockedItems {
			i.forgetIdle()
		}
	}
}

func (i *intake[W]) forgetIdle() {
	for name, q := range i.callers {
		if len(q.items) == 0 {
			delete(i.callers, name)
		}
	}
}
