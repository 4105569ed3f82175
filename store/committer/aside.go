package committer

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrLocked wraps ErrRefused: the database ended the transaction because it did not get a lock
// in time. Only sessions that were not there to be locked, and rows that somebody changes past
// the service, come to that.
var ErrLocked = fmt.Errorf("%w: a lock was not had in time", ErrRefused)

// ErrSessionFailing is wrapped, beside runs.ErrUnavailable, by the error of a command that
// waited for Options.LockWait behind commands that the database refused.
var ErrSessionFailing = errors.New("the database refuses what is before it in the session")

const (
	// asideFor is how long a session whose command failed is kept aside.
	asideFor = 10 * time.Second
	// maxLockTries is how many commands of a batch may wait for a lock by themselves. Then the
	// sessions of the others are set aside untried.
	maxLockTries = 2
	// No large command is carried out after one for restOfLarge times as long as it took, at most
	// maxRest. With once as long, others carried 43 % of what they carry alone on SQLite, with three
	// times 65 % (see docs/benchmark-log.md). After one in parts, which takes longer and harms less, the
	// rest is as long as it took.
	restOfLarge = 3
	maxRest     = 250 * time.Millisecond
	// A command of so many rows or bytes is large: its session is aside until it is carried out.
	largeRows, largeBytes = 256, 512 << 10
)

// aside is what a lane knows of a session that would hold it up. Its commands are carried
// out beside the lane, one at a time, in a transaction of their own.
type aside struct {
	// attempting is the call that is being carried out, nil for none.
	attempting *call
	// refused is how often the first call was refused, and err is why.
	refused int
	err     error
	// until is when a session without calls is no longer kept aside.
	until time.Time
}

// attempt is the outcome of a call that was carried out beside its lane.
type attempt struct {
	session *lockedSession
	call    *call
	// begun is when it began, and batches how many the lane had had by then.
	begun   time.Time
	batches int
	// inParts says that it was written in parts.
	inParts bool
	// locked says that another transaction has locked the row of the session.
	locked bool
	err    error
}

// setAside lets a call wait with its session beside the lane. err is why it was refused, nil
// when it was not tried.
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
	l.memory.take(waiting.sessionID)
}

// attemptAside begins to carry out a call beside the lane if it is time for one and none is
// under way. Sessions that were refused least are first, and of those the one that waits longest.
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
	// What was refused once is decided under the lock, where nobody comes in between.
	made.inParts = c.parted != nil && next.aside.refused == 0 && made.call.inParts()
	next.aside.attempting = made.call
	go func() {
		how := besideLane
		if made.inParts {
			how = inParts
		}
		locked, err := c.tryCommit(l, []*call{made.call}, how)
		made.locked, made.err = len(locked) > 0, err
		l.attempted <- made
	}()
}

// attemptEnded decides how a session goes on whose call was carried out beside the lane.
func (c *Committer) attemptEnded(l *lane, made *attempt) {
	l.attempting = false
	session, at := made.session, made.session.aside
	at.attempting = nil
	now := time.Now()
	if made.call.large() && l.batches > made.batches {
		rest := restOfLarge * now.Sub(made.begun)
		if made.inParts {
			rest = now.Sub(made.begun)
		}
		l.restsUntil = now.Add(min(rest, maxRest))
	}
	switch {
	case made.locked:
		session.aside, session.free = nil, false // the lane tries again whether it is locked
		session.retryLater(now)
	case made.err == nil:
		lockIsGone := errors.Is(at.err, ErrLocked)
		session.comeBack()
		for _, other := range l.locked {
			// What held up that one may have held up all.
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

// due returns when a session whose calls wait is tried again. Large calls take the disk and the
// processors that others need too: each is followed by a rest, if the lane has anything else to do.
func (l *lane) due(session *lockedSession) time.Time {
	if session.aside != nil && session.calls[0].large() && session.retryAt.Before(l.restsUntil) {
		return l.restsUntil
	}
	return session.retryAt
}

// before reports whether a session that is aside is tried before another one.
func (s *lockedSession) before(other *lockedSession) bool {
	if s.aside.refused != other.aside.refused {
		return s.aside.refused < other.aside.refused
	}
	return s.since.Before(other.since)
}

// comeBack gives a session back to its lane, unless a large call is among those that wait.
func (s *lockedSession) comeBack() {
	if s.hasLarge() {
		s.aside = &aside{}
		return
	}
	s.aside, s.free = nil, true
	for _, waiting := range s.calls {
		// They waited for what was before them, and not for a lock.
		waiting.lockedSince = time.Now()
	}
}

// hasLarge reports whether a large call is among those that wait for the session.
func (s *lockedSession) hasLarge() bool {
	return slices.ContainsFunc(s.calls, func(w *call) bool { return w.large() && !w.answered() })
}

// endAttempts takes in the attempt that has ended, if one has.
func (c *Committer) endAttempts(l *lane) {
	select {
	case made := <-l.attempted:
		c.attemptEnded(l, made)
	default:
	}
}
