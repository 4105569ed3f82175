package deliver

import "time"

const (
	// failuresBeforePause is how many attempts in a row may fail before a breaker opens. Then it lets one
	// attempt at a time through, each after a pause that doubles from a pace to longestPause.
	failuresBeforePause = 5
	longestPause        = time.Minute
)

// breaker keeps attempts from a service that refuses them in a row.
type breaker struct {
	failures int
	resumeAt time.Time
}

// open reports whether one attempt may be under way at the most.
func (b *breaker) open() bool { return b.failures >= failuresBeforePause }

// pause returns for how long no attempt may start, nothing or less for none.
func (b *breaker) pause() time.Duration {
	if !b.open() {
		return 0
	}
	return time.Until(b.resumeAt) //nolint:forbidigo // only says when to look again
}

// ended counts what became of an attempt.
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
