package deliver

import (
	"maps"
	"time"
)

const (
	// longestStuck bounds the pause after a failed claim, which doubles from pace.
	longestStuck = 10 * time.Second
	// stuckKept bounds the stuck sessions that a lane remembers. Others keep coming, each at the pace of breathe.
	stuckKept = 1000
	// readPast is the number of additional rows to read while sessions are stuck, whose rows may come first. Reads
	// double until they reach readMost.
	readPast = 500
	readMost = 16 * readPast
)

// stuckSessions are the sessions of a lane whose effects cannot be claimed, because they are locked or failing. After a
// pause, each gets one attempt at a time, so that it does not take the slots of other sessions. Used only by the loop.
type stuckSessions map[string]stuckSession

type stuckSession struct {
	failures int
	until    time.Time
	// trying says that an attempt is under way.
	trying bool
}

// skips reports whether no effect of the session may be attempted now. Stuck sessions use half of a lane's slots at most.
func (s stuckSessions) skips(sessionID string, slots int) bool {
	stuck, is := s[sessionID]
	if !is {
		return false
	}
	return stuck.trying || time.Now().Before(stuck.until) || s.tried() >= max(1, slots/2) //nolint:forbidigo // only says when to look again
}

// tried returns how many stuck sessions have an attempt under way.
func (s stuckSessions) tried() (count int) {
	for _, stuck := range s {
		if stuck.trying {
			count++
		}
	}
	return count
}

// begun notes an attempt.
func (s stuckSessions) begun(sessionID string) {
	if stuck, is := s[sessionID]; is {
		stuck.trying = true
		s[sessionID] = stuck
	}
}

// ended notes the result of an attempt. Failures of attempts that were under way together count as one.
func (s stuckSessions) ended(r result) {
	if !r.unclaimed {
		delete(s, r.due.SessionID)
		return
	}
	now := time.Now() //nolint:forbidigo // only says when to look again
	stuck, is := s[r.due.SessionID]
	if !is && len(s) >= stuckKept {
		return
	}
	stuck.trying = false
	if now.After(stuck.until) {
		stuck.until = now.Add(min(pace<<min(stuck.failures, 10), longestStuck))
		stuck.failures++
	}
	s[r.due.SessionID] = stuck
}

// forget drops sessions that were not tried again long after their pause: another replica has handled them.
func (s stuckSessions) forget() {
	before := time.Now().Add(-2 * longestStuck) //nolint:forbidigo // only says when to look again
	maps.DeleteFunc(s, func(_ string, stuck stuckSession) bool { return !stuck.trying && stuck.until.Before(before) })
}

// reading returns how many rows to read for a number of attempts.
func (s stuckSessions) reading(attempts int) int {
	if len(s) > 0 {
		attempts += readPast
	}
	return attempts
}

// mayHide reports whether rows of stuck sessions may hide others behind the rows that were read.
func (s stuckSessions) mayHide(read int) bool { return len(s) > 0 && read < readMost }
