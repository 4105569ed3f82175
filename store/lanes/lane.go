package lanes

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Limits for the items that wait for one locked key, and for the keys without items that
// are kept off the lane.
const (
	maxLockedItems = 1024
	maxIdleKeys    = 1024
)

// lane is a queue of items with at most one batch in flight. Only its goroutine uses it, except for
// items and the atomic fields.
type lane[W Work] struct {
	*Lanes[W]

	number int
	// arrivals are the items that were sent and not received.
	arrivals chan W
	// intake holds the received items that are not in a batch yet, and waiting is their number.
	intake  intake[W]
	waiting atomic.Int64
	locked  map[string]*lockedKey[W]
	// attempting is set while an item runs in the background. Its outcome is sent to attempted.
	// lastAside is the caller of the last one.
	attempting bool
	lastAside  string
	attempted  chan *attempt[W]
	// restsUntil is when the next large item may run in the background. batches counts the lane's
	// own batches.
	restsUntil time.Time
	batches    int
	// busySince is when the batch in flight began, by Options.Clock, plus 1. It is 0 if there is
	// none.
	busySince atomic.Int64
	// oldest is when the longest waiting item of the lane arrived, in Unix nanoseconds. It is 0 if
	// there is none.
	oldest atomic.Int64
}

// lockedKey queues the items of a key that another transaction has locked, or that was
// taken off the lane. Later items of the key join the queue, to keep them in order.
type lockedKey[W Work] struct {
	items []W
	since time.Time
	// retryAt is when the key is tried again: with one item while it is locked, or with as many
	// items as fit once it is free.
	retryAt time.Time
	free    bool
	aside   *aside[W] // nil if the key is only locked
}

// run processes the items of the lane. While a batch is in flight, the next one collects in the
// channel. Without load a batch is a single item.
func (l *lane[W]) run() {
	for l.await() {
		l.yield()
		l.process(l.gather())
		l.reschedule()
		l.attemptAside()
		l.noteOldest(nil)
	}
	if l.attempting {
		l.attemptEnded(<-l.attempted)
		l.reschedule()
	}
	// Try the waiting items one last time, then once more with what the first round found out.
	for range 2 {
		for _, key := range l.locked {
			l.process(slices.Clone(key.items))
		}
	}
	for _, key := range l.locked {
		for _, waiting := range key.items {
			if !over(waiting) {
				l.options.Fail([]W{waiting}, ErrClosed)
			}
		}
	}
}

// yield lets runnable callers enqueue before the next batch is collected. Otherwise the lane and
// the last caller that it answered keep waking each other, and the Go scheduler leaves all other
// callers waiting for a time slice of 10 ms.
func (l *lane[W]) yield() { runtime.Gosched() }

// await waits for the next item, the next try of a locked key, or the end of a background item.
// It returns false if the lane is closed and empty.
func (l *lane[W]) await() (open bool) {
	if l.intake.items > 0 {
		return true
	}
	if len(l.locked) == 0 {
		first, open := <-l.arrivals
		if open {
			l.intake.push(first)
		}
		return open
	}
	var next time.Time
	for _, key := range l.locked {
		if len(key.items) == 0 || key.aside != nil && l.attempting {
			continue
		}
		if due := l.due(key); next.IsZero() || due.Before(next) {
			next = due
		}
	}
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case first, open := <-l.arrivals:
		if open {
			l.intake.push(first)
		}
		return open
	case made := <-l.attempted:
		l.attemptEnded(made)
	case <-due:
	}
	return true
}

// takeIn receives all items from the channel, so that the intake sees every caller.
func (l *lane[W]) takeIn() {
	defer func() { l.waiting.Store(int64(l.intake.items)) }()
	for {
		select {
		case arriving, open := <-l.arrivals:
			if !open {
				return
			}
			l.intake.push(arriving)
		default:
			return
		}
	}
}

// gather returns the items of the next batch: items of locked keys that are due, and received
// items, as many as fit.
func (l *lane[W]) gather() []W {
	batch := gathering[W]{options: &l.options, extra: l.options.ExtraRows()}
	now, probes := time.Now(), 0
	l.intake.begin(now)
	freed := 0
	for _, key := range l.locked {
		if key.aside != nil || len(key.items) == 0 || key.retryAt.After(now) {
			continue
		}
		if key.hasLarge() {
			// The large item arrived while the key was locked, or while it returned to the
			// lane.
			key.aside = &aside[W]{}
			continue
		}
		if !key.free {
			// Locked keys get at most a quarter of a batch.
			if probes++; probes <= max(l.options.MaxBatch/4, 1) {
				batch.add(key.items[0])
			}
			continue
		}
		for _, waiting := range key.items {
			if freed += waiting.item().Size.Cost(); len(batch.items) > 0 && freed > share && l.intake.shared() || !batch.add(waiting) {
				break
			}
		}
	}
	l.takeIn()
	defer func() { l.waiting.Store(int64(l.intake.items)) }()
	for len(batch.items) < l.options.MaxBatch {
		next := l.intake.next()
		if next == nil || !l.place(&batch, next.items[0]) {
			break
		}
		l.intake.pop(next)
	}
	return batch.items
}

// place queues an item if its key is locked or off the lane. A large item is taken off the lane, and
// any other item joins the batch. Next to other callers an item above the share is large, unless there
// is one lane, with one writer, for which the others would wait as well. It returns false if the batch
// is full.
func (l *lane[W]) place(batch *gathering[W], arriving W) bool {
	if l.locked[arriving.item().Key] != nil {
		l.wait(arriving)
		return true
	}
	if arriving.item().large() || l.options.Lanes > 1 && l.intake.shared() && arriving.item().Size.Cost() > share {
		l.setAside(arriving, nil)
		return true
	}
	return batch.add(arriving)
}

// gathering is a batch that is being collected.
type gathering[W Work] struct {
	options *Options[W]
	items   []W
	size    Size
	// extra is how many more rows each item counts.
	extra int
}

// add returns false if the item does not fit. An empty batch accepts any item.
func (g *gathering[W]) add(arriving W) bool {
	size := arriving.item().Size
	sum := Size{Rows: g.size.Rows + size.Rows + g.extra, Bytes: g.size.Bytes + size.Bytes}
	if len(g.items) > 0 &&
		(len(g.items) >= g.options.MaxBatch || sum.Rows > g.options.MaxRows || sum.Bytes > g.options.MaxBytes) {
		return false
	}
	g.items, g.size = append(g.items, arriving), sum
	return true
}

// wait queues an item until its key is unlocked.
func (l *lane[W]) wait(waiting W) {
	key := l.locked[waiting.item().Key]
	if !waiting.item().lockedSince.IsZero() {
		key.free = false
		return // it is already queued
	}
	now := time.Now()
	if key == nil {
		key = &lockedKey[W]{}
		l.locked[waiting.item().Key] = key
	}
	if len(key.items) == 0 {
		key.since, key.retryAt = now, now
	}
	if len(key.items) >= maxLockedItems {
		l.refuse(key, waiting)
		return
	}
	waiting.item().lockedSince = now
	key.items = append(key.items, waiting)
}

func (l *lane[W]) refuse(key *lockedKey[W], waiting W) {
	l.options.Fail([]W{waiting}, key.reason())
}

// reason returns why the key's items wait.
func (s *lockedKey[W]) reason() error {
	if s.aside == nil || s.aside.err == nil || errors.Is(s.aside.err, ErrLocked) {
		return ErrKeyLocked
	}
	return ErrKeyFailing
}

// reschedule removes items that are over, abandoned or have waited too long, and
// schedules the next try of the others.
func (l *lane[W]) reschedule() {
	if len(l.locked) == 0 {
		return
	}
	l.endAttempts()
	now, idle := time.Now(), 0
	for name, key := range l.locked {
		key.items = slices.DeleteFunc(key.items, func(w W) bool {
			if key.aside == nil {
				key.free = key.free || w.item().over()
			}
			return !key.attempts(w) && (w.item().over() || w.item().abandoned())
		})
		refused := 0
		key.items = slices.DeleteFunc(key.items, func(w W) bool {
			if key.attempts(w) || key.untried() || now.Sub(w.item().lockedSince) < l.options.LockWait {
				return false
			}
			refused++
			l.refuse(key, w)
			return true
		})
		if refused > 0 {
			l.options.Logger.Warn("commands of a session timed out waiting", slog.String("session_id", name),
				slog.Int("commands", refused), slog.Any("error", key.reason()))
		}
		switch {
		case len(key.items) == 0:
			if idle++; key.aside == nil || idle > maxIdleKeys || !now.Before(key.aside.until) {
				delete(l.locked, name)
			}
		case key.aside != nil:
		case key.free:
			key.retryAt = now
		case !key.retryAt.After(now):
			key.retryLater(now)
		}
	}
}

// retryLater schedules the next try of a locked key. The longer it is locked, the longer the
// delay.
func (s *lockedKey[W]) retryLater(now time.Time) {
	delay := min(max(now.Sub(s.since)/8, time.Millisecond), 25*time.Millisecond)
	s.retryAt = now.Add(delay/2 + rand.N(delay))
}

// untried reports whether the key is off the lane without a failure so far.
func (s *lockedKey[W]) untried() bool { return s.aside != nil && s.aside.err == nil }

// attempts reports whether this item runs in the background.
func (s *lockedKey[W]) attempts(w W) bool { return s.aside != nil && s.aside.attempting == w.item() }

// noteOldest records the longest waiting item of the batch and of all locked keys.
func (l *lane[W]) noteOldest(batch []W) {
	var oldest int64
	note := func(waiting W) {
		if at := waiting.item().enqueued.UnixNano(); oldest == 0 || at < oldest {
			oldest = at
		}
	}
	for _, taken := range batch {
		note(taken)
	}
	for _, key := range l.locked {
		for _, waiting := range key.items {
			note(waiting)
		}
	}
	l.oldest.Store(oldest)
}

// watch reports the start of a batch and logs if it stalls. The caller calls done at its end.
func (l *lane[W]) watch(batch []W) (done func()) {
	now := time.Now()
	l.noteOldest(batch)
	l.busySince.Store(l.options.Clock() + 1)
	items := len(batch)
	if l.options.Began != nil {
		for _, taken := range batch {
			l.options.Began(taken, now.Sub(taken.item().enqueued), items)
		}
	}
	late := time.AfterFunc(l.options.StallAfter, func() {
		l.options.Logger.Error("lane has not moved", slog.Int("lane", l.number),
			slog.Duration("for", l.options.StallAfter), slog.Int("commands", items))
	})
	return func() {
		late.Stop()
		l.busySince.Store(0)
	}
}

// busy returns how long the current batch has been in flight, or 0 if there is none.
func (l *lane[W]) busy() time.Duration {
	since := l.busySince.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(l.options.Clock()+1-since) * time.Millisecond
}
