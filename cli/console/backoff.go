package console

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses between retries double from the first to the last.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// LastWord is how long after the deadline of a call the service may still report that its
// request expired or was decided in time.
const LastWord = time.Second

// Backoff paces retries. The zero value is ready to use.
type Backoff struct{ next time.Duration }

// Sleep waits 100 ms at first and about twice as long each time, up to 2 s. If ctx ends
// first, it returns the cause.
func (b *Backoff) Sleep(ctx context.Context) error {
	b.next = min(max(b.next, firstPause), lastPause)
	pause := b.next/2 + rand.N(b.next/2)
	b.next *= 2
	return Sleep(ctx, pause)
}

// Sleep waits for a duration. If ctx ends first, it returns the cause.
func Sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
