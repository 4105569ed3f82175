package committer

import (
	"slices"

	"github.com/holdpoint/holdpoint/runs"
)

const (
	// If several callers wait, each adds at most shareRows and shareBytes to a batch, but always at
	// least one call. Otherwise one caller's large calls would delay the small calls of others.
	shareRows, shareBytes = 64, 128 << 10
)

// intake holds the calls that a lane has received but not started. The next call belongs to the
// caller with the lowest cost since the intake was last empty. Each caller's calls stay in order.
type intake struct {
	callers map[string]*queue
	// waiting are the callers with queued calls, in order of arrival.
	waiting []*queue
	// level is the cost of the caller that was served last. A caller that was idle starts there.
	level, calls int
}

// queue holds the calls of one caller.
type queue struct {
	calls []*call
	used  int
	// size and taken describe the caller's part of the batch being collected.
	size  runs.Size
	taken int
}

func (i *intake) push(arriving *call) {
	if i.callers == nil {
		i.callers = map[string]*queue{}
	}
	q := i.callers[arriving.caller]
	if q == nil {
		q = &queue{}
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
func (i *intake) begin() {
	for _, q := range i.waiting {
		q.size, q.taken = runs.Size{}, 0
	}
}

// next returns the queue to serve next, or nil if no more calls may join the batch.
func (i *intake) next() *queue {
	var next *queue
	for _, q := range i.waiting {
		if (next == nil || q.used < next.used) && (len(i.waiting) == 1 || q.hasShare()) {
			next = q
		}
	}
	return next
}

// hasShare reports whether the first call fits into its caller's share.
func (q *queue) hasShare() bool {
	first := q.calls[0].size
	return q.taken == 0 || q.size.Rows+first.Rows <= shareRows && q.size.Bytes+first.Bytes <= shareBytes
}

// pop removes the first call of a queue.
func (i *intake) pop(q *queue) {
	first := q.calls[0]
	i.level = max(i.level, q.used)
	q.used += cost(first.size)
	q.size.Rows, q.size.Bytes, q.taken = q.size.Rows+first.size.Rows, q.size.Bytes+first.size.Bytes, q.taken+1
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
