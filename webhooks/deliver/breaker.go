package deliver

import "time"

const (
	// failuresBeforePause is the number of consecutive failures that open a breaker. It
	// then lets through one attempt at a time, each after a pause that doubles from pace to
	// longestPause.
	failuresBeforePause = 5
	longestPause        = time.Minute
)

// breaker limits attempts to a receiver that keeps failing.
type breaker struct {
	failures int
	resumeAt time.Time
}

// open reports whether at most one attempt may be in flight.
func (b *breaker) open() bool { return b.failures >= failuresBeforePause }

// pause returns how long no attempt may start; zero or negative for no pause.
func (b *breaker) pause() time.Duration {
	if !b.open() {
		return 0
	}
	return time.Until(b.resumeAt) //nolint:forbidigo // only says when to look again
}

// ended records the result of an attempt.
func (b *breaker) ended(r result) {
	switch {
	case r.delivered:
		b.failures = 0
	case r.attempted:
		if b.failures++; b.open() {
			pause := min(pace<<min(b.failures-failuresBeforePause, 10), longestPause)
			b.resumeAt = time.Now().Add(pause) //nolint:forbidigo // only says when to look again
		}
	}
}
