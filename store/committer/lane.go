package committer

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// ErrSessionLocked is wrapped, beside runs.ErrUnavailable, by the error of a command whose
// session another transaction kept locked for Options.LockWait. It took no effect.
var ErrSessionLocked = errors.New("another transaction keeps the session locked")

// Bounds of the calls that wait for one locked session, and of the sessions that are aside
// without a call.
const (
	maxLockedCalls  = 1024
	maxIdleSessions = 1024
)

// lane is a queue of calls with one batch in flight at most. Its goroutine alone uses it,
// except for calls and busySince.
type lane struct {
	number int
	calls  chan *call
	// intake has the calls that were taken from the channel and did not fit into a batch yet, waiting
	// how many they are.
	intake  intake
	waiting atomic.Int64
	locked  map[string]*lockedSession
	memory  *memory
	// generation is that of the spread from which the memory is.
	generation int64
	// attempting says that a call is carried out beside the lane. Its outcome comes to attempted.
	attempting bool
	attempted  chan *attempt
	// restsUntil is when the next large call may be carried out beside the lane; batches counts
	// those of the lane itself.
	restsUntil time.Time
	batches    int
	// busySince is when the batch in flight began, by Options.Clock, and 1 more; 0 when there
	// is none.
	busySince atomic.Int64
	// oldest is when the call came that has waited longest of those that the lane has taken, in
	// nanoseconds since the epoch; 0 when there is none.
	oldest atomic.Int64
}

// lockedSession has the calls of a session that the lane does not wait for, in their order:
// another transaction had locked it, or it is aside. Later calls of the session join them, so
// that none overtakes another.
type lockedSession struct {
	calls []*call
	since time.Time
	// retryAt is when the session is tried again: with one call while it is locked, with as
	// many as fit once free.
	retryAt time.Time
	free    bool
	aside   *aside // nil when the session is merely locked
}

// runLane processes the calls of one lane. While a batch is in flight the next one
// gathers in the channel; at rest a batch is one call.
func (c *Committer) runLane(l *lane) {
	for c.await(l) {
		l.yield()
		c.process(l, c.gather(l))
		c.rescheduleLocked(l)
		c.attemptAside(l)
		l.noteOldest(nil)
	}
	if l.attempting {
		c.attemptEnded(l, <-l.attempted)
		c.rescheduleLocked(l)
	}
	// The last try of whoever waits, and another one for what the first has found out.
	for range 2 {
		for _, session := range l.locked {
			c.process(l, slices.Clone(session.calls))
		}
	}
	for _, session := range l.locked {
		for _, waiting := range session.calls {
			if !waiting.answered() {
				waiting.answer(runs.Reply{}, runs.ErrClosed)
			}
		}
	}
}

// yield lets those run who are ready to, before a batch is gathered: all who were just answered may
// have another command. Otherwise the lane and the one whom it woke last wake each other in turns,
// and Go lets the rest of them wait for as long as a time slice, which is 10 ms.
func (l *lane) yield() { runtime.Gosched() }

// await waits for a call for the next batch, for the next try of a locked session, or for the end of a try
// outside the lane. It returns false when the lane is closed and empty.
func (c *Committer) await(l *lane) (open bool) {
	if l.intake.calls > 0 {
		return true
	}
	if len(l.locked) == 0 {
		first, open := <-l.calls
		if open {
			l.intake.push(first)
		}
		return open
	}
	var next time.Time
	for _, session := range l.locked {
		if len(session.calls) == 0 || session.aside != nil && l.attempting {
			continue
		}
		if due := l.due(session); next.IsZero() || due.Before(next) {
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
	case first, open := <-l.calls:
		if open {
			l.intake.push(first)
		}
		return open
	case made := <-l.attempted:
		c.attemptEnded(l, made)
	case <-due:
	}
	return true
}

// takeIn takes all calls from the channel, so that those of every caller are seen.
func (l *lane) takeIn() {
	defer func() { l.waiting.Store(int64(l.intake.calls)) }()
	for {
		select {
		case arriving, open := <-l.calls:
			if !open {
				return
			}
			l.intake.push(arriving)
		default:
			return
		}
	}
}

// gather returns the calls of the next batch: of locked sessions whose time has come, and
// of what is in the lane, as many as fit.
func (c *Committer) gather(l *lane) []*call {
	batch := gathering{options: &c.options, owed: c.webhooks.set().Len()}
	now, probes := time.Now(), 0
	for sessionID, session := range l.locked {
		if session.aside != nil || len(session.calls) == 0 || session.retryAt.After(now) {
			continue
		}
		if session.hasLarge() {
			// It came while the session was locked, or when the session was given back.
			session.aside = &aside{}
			l.memory.take(sessionID)
			continue
		}
		if !session.free {
			// Locked sessions are never the better part of a batch.
			if probes++; probes <= max(c.options.MaxBatch/4, 1) {
				batch.add(session.calls[0])
			}
			continue
		}
		for _, waiting := range session.calls {
			if !batch.add(waiting) {
				break
			}
		}
	}
	l.takeIn()
	defer func() { l.waiting.Store(int64(l.intake.calls)) }()
	l.intake.begin()
	for len(batch.calls) < c.options.MaxBatch {
		next := l.intake.next()
		if next == nil || !c.place(l, &batch, next.calls[0]) {
			break
		}
		l.intake.pop(next)
	}
	return batch.calls
}

// place puts an arriving call behind those of its session when that is locked or aside, sets
// a large one aside, and puts any other into the batch. It returns false when the batch is full.
func (c *Committer) place(l *lane, batch *gathering, arriving *call) bool {
	if l.locked[arriving.sessionID] != nil {
		c.waitForSession(l, arriving)
		return true
	}
	if arriving.large() {
		c.setAside(l, arriving, nil)
		return true
	}
	return batch.add(arriving)
}

// gathering is a batch that is not yet full.
type gathering struct {
	options *Options
	calls   []*call
	size    runs.Size
	// owed is how many rows each call counts for that webhooks may be owed by it: one for each.
	owed int
}

// add returns false when the call does not fit. Into an empty batch each one fits.
func (g *gathering) add(arriving *call) bool {
	sum := runs.Size{Rows: g.size.Rows + arriving.size.Rows + g.owed, Bytes: g.size.Bytes + arriving.size.Bytes}
	if len(g.calls) > 0 &&
		(len(g.calls) >= g.options.MaxBatch || sum.Rows > g.options.MaxBatchRows || sum.Bytes > g.options.MaxBatchBytes) {
		return false
	}
	g.calls, g.size = append(g.calls, arriving), sum
	return true
}

// waitForSession lets a call wait until its session is no longer locked.
func (c *Committer) waitForSession(l *lane, waiting *call) {
	session := l.locked[waiting.sessionID]
	if !waiting.lockedSince.IsZero() {
		session.free = false
		return // it waits there already
	}
	now := time.Now()
	if session == nil {
		session = &lockedSession{}
		l.locked[waiting.sessionID] = session
	}
	if len(session.calls) == 0 {
		session.since, session.retryAt = now, now
	}
	if len(session.calls) >= maxLockedCalls {
		c.refuseLocked(session, waiting)
		return
	}
	waiting.lockedSince = now
	session.calls = append(session.calls, waiting)
}

func (c *Committer) refuseLocked(session *lockedSession, waiting *call) {
	waiting.answer(runs.Reply{}, fmt.Errorf("%w: %w", runs.ErrUnavailable, session.reason()))
}

// reason returns why the session's calls wait.
func (s *lockedSession) reason() error {
	if s.aside == nil || s.aside.err == nil || errors.Is(s.aside.err, ErrLocked) {
		return ErrSessionLocked
	}
	return ErrSessionFailing
}

// rescheduleLocked ends the waits of calls that were answered, abandoned, or have waited
// for too long, and says when the others are tried again.
func (c *Committer) rescheduleLocked(l *lane) {
	if len(l.locked) == 0 {
		return
	}
	c.endAttempts(l)
	now, idle := time.Now(), 0
	for sessionID, session := range l.locked {
		session.calls = slices.DeleteFunc(session.calls, func(w *call) bool {
			if session.aside == nil {
				session.free = session.free || w.answered()
			}
			return !session.attempts(w) && (w.answered() || w.abandoned())
		})
		refused := 0
		session.calls = slices.DeleteFunc(session.calls, func(w *call) bool {
			if session.attempts(w) || session.untried() || now.Sub(w.lockedSince) < c.options.LockWait {
				return false
			}
			refused++
			c.refuseLocked(session, w)
			return true
		})
		if refused > 0 {
			c.options.Logger.Warn("commands of a session have waited in vain", slog.String("session_id", sessionID),
				slog.Int("commands", refused), slog.Any("error", session.reason()))
		}
		switch {
		case len(session.calls) == 0:
			if idle++; session.aside == nil || idle > maxIdleSessions || !now.Before(session.aside.until) {
				delete(l.locked, sessionID)
			}
		case session.aside != nil:
		case session.free:
			session.retryAt = now
		case !session.retryAt.After(now):
			session.retryLater(now)
		}
	}
}

// retryLater says when a locked session is tried again: the longer it is locked, the less often.
func (s *lockedSession) retryLater(now time.Time) {
	delay := min(max(now.Sub(s.since)/8, time.Millisecond), 25*time.Millisecond)
	s.retryAt = now.Add(delay/2 + rand.N(delay))
}

// untried reports whether the session is aside and nothing is known against it.
func (s *lockedSession) untried() bool { return s.aside != nil && s.aside.err == nil }

// attempts reports whether a call of the session is being carried out beside the lane.
func (s *lockedSession) attempts(w *call) bool { return s.aside != nil && s.aside.attempting == w }

// noteOldest notes which call has waited longest: of a batch that begins, and of those that wait
// for a locked session.
func (l *lane) noteOldest(batch []*call) {
	var oldest int64
	note := func(waiting *call) {
		if at := waiting.enqueued.UnixNano(); oldest == 0 || at < oldest {
			oldest = at
		}
	}
	for _, taken := range batch {
		note(taken)
	}
	for _, session := range l.locked {
		for _, waiting := range session.calls {
			note(waiting)
		}
	}
	l.oldest.Store(oldest)
}

// watch begins the watch over a batch, and returns what ends it.
func (c *Committer) watch(l *lane, batch []*call) (done func()) {
	now := time.Now()
	l.noteOldest(batch)
	l.busySince.Store(c.options.Clock() + 1)
	if c.options.Observer != nil {
		for _, taken := range batch {
			c.options.Observer.Began(now.Sub(taken.enqueued))
		}
	}
	commands := len(batch)
	if c.options.Tracer != nil {
		for _, taken := range batch {
			if taken.span != nil {
				taken.span.Began(now.Sub(taken.enqueued), commands)
			}
		}
	}
	late := time.AfterFunc(c.options.StallAfter, func() {
		c.options.Logger.Error("lane has not moved", slog.Int("lane", l.number),
			slog.Duration("for", c.options.StallAfter), slog.Int("commands", commands))
	})
	return func() {
		late.Stop()
		l.busySince.Store(0)
	}
}

// Stalled returns a [runs.NotReadyError] that wraps runs.ErrUnavailable and names a lane whose batch has
// been in flight for Options.StallAfter or longer, nil when there is none.
func (c *Committer) Stalled() error {
	for _, l := range c.lanes {
		if busy := c.busy(l); busy >= c.options.StallAfter {
			detail := fmt.Sprintf("lane %d of the committer has not moved for %s", l.number, busy.Round(time.Second))
			return &runs.NotReadyError{Detail: detail, Err: runs.ErrUnavailable}
		}
	}
	return nil
}

// busy returns for how long the batch in flight has been so, 0 when there is none.
func (c *Committer) busy(l *lane) time.Duration {
	since := l.busySince.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(c.options.Clock()+1-since) * time.Millisecond
}
