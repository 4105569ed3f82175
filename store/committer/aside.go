package committer

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrLocked wraps ErrRefused: the database gave up waiting for a lock and ended the transaction. It
// happens only for sessions that did not exist yet and could not be locked beforehand, and for rows
// that someone changes without the service.
var ErrLocked = fmt.Errorf("%w: a lock was not had in time", ErrRefused)

// ErrSessionFailing is wrapped, together with runs.ErrUnavailable, by the error of a command that
// waited Options.LockWait behind commands of its session that the database refused.
var ErrSessionFailing = errors.New("the database refuses what is before it in the session")

const (
	// asideFor is how long a session stays off its lane after one of its commands failed.
	asideFor = 10 * time.Second
	// maxLockTries is how many commands of a refused batch may each wait for a lock on the lane.
	// The sessions of the remaining commands are taken off the lane without a try.
	maxLockTries = 2
	// After a large command the next one is delayed by restOfLarge times its duration, at most
	// maxRest. On SQLite, other commands keep 43 % of their throughput with a factor of 1 and 65 %
	// with a factor of 3 (see docs/benchmark-log.md).
	restOfLarge = 3
	maxRest     = 250 * time.Millisecond
	// A command with this many rows or bytes is large. Its session is off the lane until it is
	// done.
	largeRows, largeBytes = 256, 512 << 10
)

// aside is the state of a session that was taken off its lane because it would block the lane. Its
// commands run in the background, one at a time, each in its own transaction.
type aside struct {
	// attempting is the call that runs in the background, or nil.
	attempting *call
	// refused counts the refusals of the first call, and err is the last one.
	refused int
	err     error
	// until is when the session may return to the lane if it has no calls.
	until time.Time
}

// attempt is a call that runs in the background, and its outcome.
type attempt struct {
	session *lockedSession
	call    *call
	// begun is when it began, and batches is the lane's batch count at that time.
	begun   time.Time
	batches int
	// locked reports whether another transaction has locked the session's row.
	locked bool
	err    error
}

// setAside takes the session of a call off the lane and queues the call there. err is the refusal,
// or nil if the call was not tried.
func (c *Committer) setAside(l *lane, waiting *call, err error) {
	c.waitForSession(l, waiting)
	session := l.locked[waiting.sessionID]
	if session.aside == nil {
		session.aside = &aside{}
	}
	if err != nil {
		session.aside.refused++
		session.aside.err = err
	}
	if errors.Is(err, ErrLocked) {
		session.aside.until = time.Now().Add(asideFor)
	}
}

// attemptAside starts one background call if a call is due and none is running. The session with
// the fewest refusals goes first, then the one that has waited longest.
func (c *Committer) attemptAside(l *lane) {
	if l.attempting || len(l.locked) == 0 {
		return
	}
	now := time.Now()
	var next *lockedSession
	for _, session := range l.locked {
		if session.aside != nil && len(session.calls) > 0 && !l.due(session).After(now) &&
			(next == nil || session.before(next)) {
			next = session
		}
	}
	if next == nil {
		return
	}
	l.attempting = true
	made := &attempt{session: next, call: next.calls[0], begun: now, batches: l.batches}
	next.aside.attempting = made.call
	go func() {
		locked, err := c.carryOut(l, []*call{made.call}, false, inBackground)
		made.locked, made.err = len(locked) > 0, err
		l.attempted <- made
	}()
}

// attemptEnded handles the outcome of a background call and decides what its session does next.
func (c *Committer) attemptEnded(l *lane, made *attempt) {
	l.attempting = false
	session, at := made.session, made.session.aside
	at.attempting = nil
	now := time.Now()
	if made.call.large() && l.batches > made.batches {
		l.restsUntil = now.Add(min(restOfLarge*now.Sub(made.begun), maxRest))
	}
	switch {
	case made.locked:
		session.aside, session.free = nil, false // the lane checks the lock again
		session.retryLater(now)
	case made.err == nil:
		lockIsGone := errors.Is(at.err, ErrLocked)
		session.comeBack()
		for _, other := range l.locked {
			// The same lock may have blocked the other sessions too.
			if lockIsGone && other.untried() {
				other.comeBack()
			}
		}
	case errors.Is(made.err, ErrLocked):
		at.err, at.until = made.err, now.Add(asideFor)
		at.refused++
		session.retryAt = now.Add(min(now.Sub(session.since)/8, 100*time.Millisecond))
	case errors.Is(made.err, ErrRefused):
		at.err = made.err
		if at.refused++; at.refused < c.options.Retries {
			session.retryAt = now.Add(time.Millisecond << min(at.refused, 6))
			break
		}
		fallthrough
	default:
		at.refused, at.until = 0, now.Add(asideFor)
		c.giveUp([]*call{made.call}, made.err)
	}
}

// due returns when a waiting session is tried again. Large calls use the disk and processors that
// other calls need, so each is followed by a pause if the lane has other work.
func (l *lane) due(session *lockedSession) time.Time {
	if session.aside != nil && session.calls[0].large() && session.retryAt.Before(l.restsUntil) {
		return l.restsUntil
	}
	return session.retryAt
}

// before reports whether this session goes before another one that is off the lane.
func (s *lockedSession) before(other *lockedSession) bool {
	if s.aside.refused != other.aside.refused {
		return s.aside.refused < other.aside.refused
	}
	return s.since.Before(other.since)
}

// comeBack returns a session to its lane, unless a large call waits in it.
func (s *lockedSession) comeBack() {
	if s.hasLarge() {
		s.aside = &aside{}
		return
	}
	s.aside, s.free = nil, true
	for _, waiting := range s.calls {
		// They waited for earlier calls and not for a lock.
		waiting.lockedSince = time.Now()
	}
}

// hasLarge reports whether a large call waits in the session.
func (s *lockedSession) hasLarge() bool {
	return slices.ContainsFunc(s.calls, func(w *call) bool { return w.large() && !w.answered() })
}

// endAttempts handles the background call if it has ended.
func (c *Committer) endAttempts(l *lane) {
	select {
	case made := <-l.attempted:
		c.attemptEnded(l, made)
	default:
	}
}
