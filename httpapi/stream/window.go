package stream

import (
	"cmp"
	"slices"
)

// item is an element of a window, with an increasing number and a weight.
type item interface {
	position() int64
	// weight returns the number of events in the item and its approximate size in bytes.
	weight() (events, bytes int)
}

// window keeps the newest items for followers that are a little behind, within limits. The owner's
// lock is held in all methods.
type window[T item] struct {
	maxEvents, maxBytes int

	// items are the items after base up to head. Elements are never modified: followers hold parts
	// of the slice.
	items         []T
	events, bytes int
	base, head    int64
	// changed is closed and replaced when there is something new.
	changed chan struct{}
}

func newWindow[T item](maxEvents, maxBytes int) window[T] {
	return window[T]{maxEvents: maxEvents, maxBytes: maxBytes, changed: make(chan struct{})}
}

// add appends items, drops old ones beyond the limits, and wakes the followers.
func (w *window[T]) add(items ...T) {
	if len(items) == 0 {
		return
	}
	w.items = append(w.items, items...)
	for _, one := range items {
		events, bytes := one.weight()
		w.events, w.bytes = w.events+events, w.bytes+bytes
	}
	w.head = items[len(items)-1].position()
	if w.events > w.maxEvents || w.bytes > w.maxBytes {
		w.trim()
	}
	w.wake()
}

// trim drops items until half of the limits are left, so it does not run for each item. It copies
// the rest, because the old array would keep the dropped items alive.
func (w *window[T]) trim() {
	first, last := 0, len(w.items)-1
	for first < last && (w.events > w.maxEvents/2 || w.bytes > w.maxBytes/2) {
		events, bytes := w.items[first].weight()
		w.events, w.bytes = w.events-events, w.bytes-bytes
		first++
	}
	w.base = w.items[first].position() - 1
	w.items = slices.Clone(w.items[first:])
}

// drop drops all items.
func (w *window[T]) drop() {
	w.items, w.events, w.bytes, w.base = nil, 0, 0, w.head
}

// after returns the items after a position that is not before base.
func (w *window[T]) after(position int64) []T {
	at, _ := slices.BinarySearchFunc(w.items, position+1, func(one T, wanted int64) int { return cmp.Compare(one.position(), wanted) })
	return w.items[at:]
}

// wake wakes all followers.
func (w *window[T]) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}
