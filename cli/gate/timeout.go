package gate

import (
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
)

// errTimedOut is the cause of a wait that --timeout ended by the local clock.
var errTimedOut = errors.New("the time ran out")

// untilTimedOut returns a context that ends with errTimedOut when the time of the call has
// run out. The caller must call stop.
func (g *gate) untilTimedOut(ctx context.Context) (bounded context.Context, stop func()) {
	if g.timeout == 0 {
		return ctx, func() {}
	}
	bounded, cancel := context.WithCancelCause(ctx)
	g.deadline = time.Now().Add(g.timeout)
	timer := time.AfterFunc(g.timeout, func() {
		if g.raised.Load() {
			time.AfterFunc(console.LastWord, func() { cancel(errTimedOut) })
			return
		}
		cancel(errTimedOut)
	})
	return bounded, func() {
		timer.Stop()
		cancel(nil)
	}
}

// remaining returns the remaining time of the call in ms, at least 1; nil without a
// timeout.
func (g *gate) remaining() *int64 {
	if g.timeout == 0 {
		return nil
	}
	return new(max(time.Until(g.deadline).Milliseconds(), 1))
}

// giveUp withdraws what a call that timed out leaves behind, unless a later call with its
// key can continue it.
func (g *gate) giveUp(ctx context.Context) {
	if g.key != "" {
		g.letGo(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = g.CancelRun(ctx, g.params.RunID, "nobody decided within "+g.timeout.String()) // it may not exist
}

// letGo releases the lease, so that a later call need not wait until it expires.
func (g *gate) letGo(ctx context.Context) {
	if g.fence == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = g.ReleaseRun(ctx, g.params.RunID, g.fence, nil) // otherwise it expires
}
