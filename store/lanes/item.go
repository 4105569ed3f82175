package lanes

import (
	"sync/atomic"
	"time"
)

// Work is work for a lane: a pointer to a struct that embeds an Item.
type Work interface{ item() *Item }

// Item is what a lane knows of some work.
type Item struct {
	// Key is the session. Items of one key keep their order.
	Key string
	// Caller identifies the caller for fair sharing of the lane.
	Caller string
	Size   Size

	state    atomic.Int32
	enqueued time.Time
	// lockedSince is when the item began to wait for its key. Only the lane uses it.
	lockedSince time.Time
	done        chan struct{}
}

// Size is how much an item writes, approximately.
type Size struct{ Rows, Bytes int }

// rowBytes is the number of bytes that take about as long to write as a row.
const rowBytes = 2 << 10

// Cost returns the number of rows that take about as long to write as an item of this size.
func (s Size) Cost() int { return s.Rows + s.Bytes/rowBytes }

// An item ends up either done or abandoned.
const (
	itemQueued int32 = iota
	itemBegun
	itemAbandoned
	// itemSettled means that the lane is done with the item, which ends later.
	itemSettled
)

func (i *Item) item() *Item { return i }

// Begin marks the item as begun. It returns false if the caller has given up.
func (i *Item) Begin() bool {
	return i.state.CompareAndSwap(itemQueued, itemBegun) || i.state.Load() == itemBegun
}

// Leave puts an item back in the queue if it was not carried out after all.
func (i *Item) Leave() { i.state.CompareAndSwap(itemBegun, itemQueued) }

// abandon withdraws the item. It returns false if the item has begun.
func (i *Item) abandon() bool { return i.state.CompareAndSwap(itemQueued, itemAbandoned) }

func (i *Item) abandoned() bool { return i.state.Load() == itemAbandoned }

// Settle marks the item as carried out. The lane is done with it, and its caller waits for End.
func (i *Item) Settle() { i.state.Store(itemSettled) }

// End ends the item: its caller goes on. It must be called exactly once.
func (i *Item) End() { close(i.done) }

// over reports whether the lane is done with the item.
func (i *Item) over() bool {
	if i.state.Load() == itemSettled {
		return true
	}
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

// Waited reports whether the item has waited for its key.
func (i *Item) Waited() bool { return !i.lockedSince.IsZero() }

// large reports whether the item would block other items for too long.
func (i *Item) large() bool { return i.Size.Rows >= largeRows || i.Size.Bytes >= largeBytes }

func over[W Work](work W) bool { return work.item().over() }
