package gate

import (
	"context"
	"errors"
	"time"
)

// errTimedOut is the cause of a wait that --timeout ended on this process's own clock.
var errTimedOut = errors.New("the time ran out")

// lastWord is how long past the deadline the service may take to say that a request has expired,
// or was decided in time.
const lastWord = time.Second

// untilTimedOut returns a context that ends with errTimedOut when the time of the call has run
// out. The caller must call stop.
func (g *gate) untilTimedOut(ctx context.Context) (bounded context.Context, stop func()) {
	if g.timeout == 0 {
		return ctx, func() {}
	}
	bounded, cancel := context.WithCancelCause(ctx)
	g.deadline = time.Now().Add(g.timeout)
	timer := time.AfterFunc(g.timeout, func() {
		if g.raised.Load() {
			time.AfterFunc(lastWord, func() { cancel(errTimedOut) })
			return
		}
		cancel(errTimedOut)
	})
	return bounded, func() {
		timer.Stop()
		cancel(nil)
	}
}

// remaining returns what is left of the time of the call, in milliseconds and 1 at least; nil for
// a call without an end.
func (g *gate) remaining() *int64 {
	if g.timeout == 0 {
		return nil
	}
	left := max(time.Until(g.deadline).Milliseconds(), 1)
	return &left
}

// giveUp takes back what a call whose time has run out leaves behind, unless a later call with its
// key may go on with it.
func (g *gate) giveUp(ctx context.Context) {
	if g.key != "" {
		g.letGo(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = g.CancelRun(ctx, g.params.RunID, "nobody decided within "+g.timeout.String()) // it may not be there
}

// letGo gives the lease back, so that a later call need not wait for its end.
func (g *gate) letGo(ctx context.Context) {
	if g.fence == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = g.ReleaseRun(ctx, g.params.RunID, g.fence, nil) // it lapses otherwise
}
