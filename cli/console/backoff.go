package console

import (
	"context"
	"math/rand/v2"
	"time"
)

// The pauses after failures in a row: the first, doubled each time up to the last.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Backoff paces what is retried. The zero value is ready to use.
type Backoff struct{ next time.Duration }

// Sleep waits about twice as long as the call before, 100 ms at first and 2 s at most,
// or returns why ctx ended.
func (b *Backoff) Sleep(ctx context.Context) error {
	b.next = min(max(b.next, firstPause), lastPause)
	pause := b.next/2 + rand.N(b.next/2)
	b.next *= 2
	return Sleep(ctx, pause)
}

// Sleep waits, or returns why ctx ended.
func Sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
