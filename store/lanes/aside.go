package lanes

import (
	"errors"
	"slices"
	"time"
)

const (
	// asideFor is how long a key stays off its lane after one of its items failed.
	asideFor = 10 * time.Second
	// maxLockTries is how many items of a refused batch may each wait for a lock on the lane.
	// The keys of the remaining items are taken off the lane without a try.
	maxLockTries = 2
	// After a large item the next one is delayed by restOfLarge times its duration, at most
	// maxRest. On SQLite, other items keep 43 % of their throughput with a factor of 1 and 65 %
	// with a factor of 3 (see docs/benchmark-log.md).
	restOfLarge = 3
	maxRest     = 250 * time.Millisecond
	// An item with this many rows or bytes is large. Its key is off the lane until it is
	// done.
	largeRows, largeBytes = 256, 512 << 10
)

// aside is the state of a key that was taken off its lane because it would block the lane. Its
// items run in the background, one at a time, each in its own transaction.
type aside[W Work] struct {
	// attempting is the item that runs in the background, or nil.
	attempting *Item
	// refused counts the refusals of the first item, and err is the last one.
	refused int
	err     error
	// until is when the key may return to the lane if it has no items.
	until time.Time
}

// attempt is an item that runs in the background, and its outcome.
type attempt[W Work] struct {
	key  *lockedKey[W]
	item W
	// begun is when it began, and batches is the lane's batch count at that time.
	begun   time.Time
	batches int
	// locked reports whether another transaction has locked the key's row.
	locked bool
	err    error
}

// setAside takes the key of an item off the lane and queues the item there. err is the refusal,
// or nil if the item was not tried.
func (l *lane[W]) setAside(waiting W, err error) {
	l.wait(waiting)
	key := l.locked[waiting.item().Key]
	if key.aside == nil {
		key.aside = &aside[W]{}
	}
	if err != nil {
		key.aside.refused++
		key.aside.err = err
	}
	if errors.Is(err, ErrLocked) {
		key.aside.until = time.Now().Add(asideFor)
	}
}

// attemptAside starts one background item if an item is due and none is running. The key with
// the fewest refusals goes first, then one of another caller than the last, then the one that has
// waited longest.
func (l *lane[W]) attemptAside() {
	if l.attempting || len(l.locked) == 0 {
		return
	}
	now := time.Now()
	var next *lockedKey[W]
	for _, key := range l.locked {
		if key.aside != nil && len(key.items) > 0 && !l.due(key).After(now) &&
			(next == nil || key.before(next, l.lastAside)) {
			next = key
		}
	}
	if next == nil {
		return
	}
	l.attempting, l.lastAside = true, next.items[0].item().Caller
	made := &attempt[W]{key: next, item: next.items[0], begun: now, batches: l.batches}
	next.aside.attempting = made.item.item()
	go func() {
		locked, err := l.options.Carry(l.number, []W{made.item}, Background)
		made.locked, made.err = len(locked) > 0, err
		l.attempted <- made
	}()
}

// attemptEnded handles the outcome of a background item and decides what its key does next.
func (l *lane[W]) attemptEnded(made *attempt[W]) {
	l.attempting = false
	key, at := made.key, made.key.aside
	at.attempting = nil
	now := time.Now()
	if made.item.item().large() && l.batches > made.batches {
		l.restsUntil = now.Add(min(restOfLarge*now.Sub(made.begun), maxRest))
	}
	switch {
	case made.locked:
		key.aside, key.free = nil, false // the lane checks the lock again
		key.retryLater(now)
	case made.err == nil:
		lockIsGone := errors.Is(at.err, ErrLocked)
		key.comeBack()
		for _, other := range l.locked {
			// The same lock may have blocked the other keys too.
			if lockIsGone && other.untried() {
				other.comeBack()
			}
		}
	case errors.Is(made.err, ErrLocked):
		at.err, at.until = made.err, now.Add(asideFor)
		at.refused++
		key.retryAt = now.Add(min(now.Sub(key.since)/8, 100*time.Millisecond))
	case errors.Is(made.err, ErrRefused):
		at.err = made.err
		if at.refused++; at.refused < l.options.Retries {
			key.retryAt = now.Add(time.Millisecond << min(at.refused, 6))
			break
		}
		fallthrough
	default:
		at.refused, at.until = 0, now.Add(asideFor)
		l.options.Fail([]W{made.item}, made.err)
	}
}

// due returns when a waiting key is tried again. Large items use the disk and processors that
// other items need, so each is followed by a pause if the lane has other work.
func (l *lane[W]) due(key *lockedKey[W]) time.Time {
	if key.aside != nil && key.items[0].item().large() && key.retryAt.Before(l.restsUntil) {
		return l.restsUntil
	}
	return key.retryAt
}

// before reports whether this key goes before another one that is off the lane, after an item of the
// caller last.
func (s *lockedKey[W]) before(other *lockedKey[W], last string) bool {
	if s.aside.refused != other.aside.refused {
		return s.aside.refused < other.aside.refused
	}
	if mine, others := s.items[0].item().Caller == last, other.items[0].item().Caller == last; mine != others {
		return others
	}
	return s.since.Before(other.since)
}

// comeBack returns a key to its lane, unless a large item waits in it.
func (s *lockedKey[W]) comeBack() {
	if s.hasLarge() {
		s.aside = &aside[W]{}
		return
	}
	s.aside, s.free = nil, true
	for _, waiting := range s.items {
		// They waited for earlier items and not for a lock.
		waiting.item().lockedSince = time.Now()
	}
}

// hasLarge reports whether a large item waits in the key.
func (s *lockedKey[W]) hasLarge() bool {
	return slices.ContainsFunc(s.items, func(w W) bool { return w.item().large() && !w.item().over() })
}

// endAttempts handles the background item if it has ended.
func (l *lane[W]) endAttempts() {
	select {
	case made := <-l.attempted:
		l.attemptEnded(made)
	default:
	}
}
