package cli

import (
	"context"
	"math/rand/v2"
	"time"
)

// minPoll is the least time between two reads of a run that has not moved.
const minPoll = 100 * time.Millisecond

// The pauses after failures in a row: the first, doubled each time up to the last.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// backoff paces what is tried again.
type backoff struct{ next time.Duration }

func (b *backoff) sleep(ctx context.Context) error {
	b.next = min(max(b.next, firstPause), lastPause)
	pause := b.next/2 + rand.N(b.next/2)
	b.next *= 2
	return sleep(ctx, pause)
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
