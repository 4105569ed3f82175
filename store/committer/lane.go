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

// ErrSessionLocked is wrapped, together with runs.ErrUnavailable, by the error of a command whose
// session stayed locked by another transaction for Options.LockWait. The command had no effect.
var ErrSessionLocked = errors.New("another transaction keeps the session locked")

// Limits for the calls that wait for one locked session, and for the sessions without calls that
// are kept off the lane.
const (
	maxLockedCalls  = 1024
	maxIdleSessions = 1024
)

// lane is a queue of calls with at most one batch in flight. Only its goroutine uses it, except for
// calls and the atomic fields.
type lane struct {
	number int
	calls  chan *call
	// intake holds the received calls that are not in a batch yet, and waiting is their number.
	intake  intake
	waiting atomic.Int64
	locked  map[string]*lockedSession
	// attempting is set while a call runs in the background. Its outcome is sent to attempted.
	attempting bool
	attempted  chan *attempt
	// restsUntil is when the next large call may run in the background. batches counts the lane's
	// own batches.
	restsUntil time.Time
	batches    int
	// busySince is when the batch in flight began, by Options.Clock, plus 1. It is 0 if there is
	// none.
	busySince atomic.Int64
	// oldest is when the longest waiting call of the lane arrived, in Unix nanoseconds. It is 0 if
	// there is none.
	oldest atomic.Int64
}

// lockedSession queues the calls of a session that another transaction has locked, or that was
// taken off the lane. Later calls of the session join the queue, to keep them in order.
type lockedSession struct {
	calls []*call
	since time.Time
	// retryAt is when the session is tried again: with one call while it is locked, or with as many
	// calls as fit once it is free.
	retryAt time.Time
	free    bool
	aside   *aside // nil if the session is only locked
}

// runLane processes the calls of one lane. While a batch is in flight, the next one collects in the
// channel. Without load a batch is a single call.
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
	// Try the waiting calls one last time, then once more with what the first round found out.
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

// yield lets runnable callers enqueue before the next batch is collected. Otherwise the lane and
// the last caller that it answered keep waking each other, and the Go scheduler leaves all other
// callers waiting for a time slice of 10 ms.
func (l *lane) yield() { runtime.Gosched() }

// await waits for the next call, the next try of a locked session, or the end of a background call.
// It returns false if the lane is closed and empty.
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

// takeIn receives all calls from the channel, so that the intake sees every caller.
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

// gather returns the calls of the next batch: calls of locked sessions that are due, and received
// calls, as many as fit.
func (c *Committer) gather(l *lane) []*call {
	batch := gathering{options: &c.options, owed: c.facts.Webhooks.Set().Len()}
	now, probes := time.Now(), 0
	l.intake.begin(now)
	freed := 0
	for _, session := range l.locked {
		if session.aside != nil || len(session.calls) == 0 || session.retryAt.After(now) {
			continue
		}
		if session.hasLarge() {
			// The large call arrived while the session was locked, or while it returned to the
			// lane.
			session.aside = &aside{}
			continue
		}
		if !session.free {
			// Locked sessions get at most a quarter of a batch.
			if probes++; probes <= max(c.options.MaxBatch/4, 1) {
				batch.add(session.calls[0])
			}
			continue
		}
		for _, waiting := range session.calls {
			if freed += cost(waiting.size); len(batch.calls) > 0 && freed > share && l.intake.shared() || !batch.add(waiting) {
				break
			}
		}
	}
	l.takeIn()
	defer func() { l.waiting.Store(int64(l.intake.calls)) }()
	for len(batch.calls) < c.options.MaxBatch {
		next := l.intake.next()
		if next == nil || !c.place(l, &batch, next.calls[0]) {
			break
		}
		l.intake.pop(next)
	}
	return batch.calls
}

// place queues a call if its session is locked or off the lane. A large call is taken off the lane,
// and any other call joins the batch. It returns false if the batch is full.
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

// gathering is a batch that is being collected.
type gathering struct {
	options *Options
	calls   []*call
	size    runs.Size
	// owed is how many extra rows each call counts: one possible delivery for each webhook.
	owed int
}

// add returns false if the call does not fit. An empty batch accepts any call.
func (g *gathering) add(arriving *call) bool {
	sum := runs.Size{Rows: g.size.Rows + arriving.size.Rows + g.owed, Bytes: g.size.Bytes + arriving.size.Bytes}
	if len(g.calls) > 0 &&
		(len(g.calls) >= g.options.MaxBatch || sum.Rows > g.options.MaxBatchRows || sum.Bytes > g.options.MaxBatchBytes) {
		return false
	}
	g.calls, g.size = append(g.calls, arriving), sum
	return true
}

// waitForSession queues a call until its session is unlocked.
func (c *Committer) waitForSession(l *lane, waiting *call) {
	session := l.locked[waiting.sessionID]
	if !waiting.lockedSince.IsZero() {
		session.free = false
		return // it is already queued
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

// rescheduleLocked removes calls that are answered, abandoned or have waited too long, and
// schedules the next try of the others.
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

// retryLater schedules the next try of a locked session. The longer it is locked, the longer the
// delay.
func (s *lockedSession) retryLater(now time.Time) {
	delay := min(max(now.Sub(s.since)/8, time.Millisecond), 25*time.Millisecond)
	s.retryAt = now.Add(delay/2 + rand.N(delay))
}

// untried reports whether the session is off the lane without a failure so far.
func (s *lockedSession) untried() bool { return s.aside != nil && s.aside.err == nil }

// attempts reports whether this call runs in the background.
func (s *lockedSession) attempts(w *call) bool { return s.aside != nil && s.aside.attempting == w }

// noteOldest records the longest waiting call of the batch and of all locked sessions.
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

// watch reports the start of a batch and logs if it stalls. The caller calls done at its end.
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

// Stalled returns a [runs.NotReadyError] that wraps runs.ErrUnavailable and names a lane whose
// batch has been in flight for Options.StallAfter or longer. It returns nil if there is none.
func (c *Committer) Stalled() error {
	for _, l := range c.lanes {
		if busy := c.busy(l); busy >= c.options.StallAfter {
			detail := fmt.Sprintf("lane %d of the committer has not moved for %s", l.number, busy.Round(time.Second))
			return &runs.NotReadyError{Detail: detail, Err: runs.ErrUnavailable}
		}
	}
	return nil
}

// busy returns how long the current batch has been in flight, or 0 if there is none.
func (c *Committer) busy(l *lane) time.Duration {
	since := l.busySince.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(c.options.Clock()+1-since) * time.Millisecond
}
