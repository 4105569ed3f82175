package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// maxHeld is how long one read of a wait is held.
const maxHeld = 20 * time.Second

// attend continues a run that this process has claimed. It raises the request if that is
// not done yet, keeps the lease until everything is settled, and calls act. It returns not
// done without an error if the run has ended.
func (g *gate) attend(ctx context.Context, claim *api.Claim, act actFunc) (done bool, err error) {
	g.fence = claim.Lease.Fence
	after := "0"
	switch {
	case claim.Resume != nil:
		// Read first, so that nothing after act's next request is missed.
		settled, err := g.AwaitSettled(ctx, g.params.RunID, g.fence, after, 0)
		if err != nil {
			return false, err
		}
		after = settled.After
		if done, err := act(ctx, claim); done || err != nil {
			return done, err
		}
	case !g.raised.Load():
		if err := g.ask(ctx, claim, g.asks()); err != nil {
			return false, err
		}
	}
	for {
		g.sayWaiting(&claim.Run)
		settled, err := g.awaitSettled(ctx, after)
		if err != nil || settled == nil {
			return false, err
		}
		after = settled.After
		if claim.Resume, err = client.ResumeOf(settled); err != nil {
			return true, err
		}
		if done, err := act(ctx, claim); done || err != nil {
			return done, err
		}
	}
}

// ask raises a suspension under the lease of a claim. The claim then shows the open
// requests.
func (g *gate) ask(ctx context.Context, claim *api.Claim, suspension *api.Suspension) error {
	result, err := g.Suspend(ctx, g.params.RunID, claim.Lease.Fence, *suspension)
	if err != nil {
		return err
	}
	g.raised.Store(true)
	claim.Run = result.Run
	return nil
}

// awaitSettled renews the lease and returns the requests settled after a cursor, as soon as
// there are any; nil if the run has ended.
func (g *gate) awaitSettled(ctx context.Context, after string) (settled *api.Settled, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { g.renew(ctx, cancel) })
	defer renewing.Wait()
	defer cancel(nil)
	held := maxHeld
	for {
		started := time.Now()
		err := g.retryTransient(ctx, func() (err error) {
			if settled, err = g.AwaitSettled(ctx, g.params.RunID, g.fence, after, held); err != nil {
				held = 0 // show at once that the service is back
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		g.sayBack()
		switch {
		case settled.CancelRequested:
			return nil, nil
		case len(settled.Settled) > 0:
			return settled, nil
		case settled.Open == 0:
			return nil, nil // the run has ended, or has moved on without this process
		case held > 0 && time.Since(started) < minPoll:
			if err := console.Sleep(ctx, minPoll); err != nil {
				return nil, err
			}
		}
		held = maxHeld
	}
}

// renew renews the lease until ctx ends. It cancels ctx if the lease is lost.
func (g *gate) renew(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(g.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		call, stop := context.WithTimeout(ctx, g.lease/3) // a long Retry-After must not outlast the lease
		_, err := g.Heartbeat(call, g.params.RunID, client.HeartbeatParams{Fence: g.fence, LeaseMs: g.lease.Milliseconds()})
		stop()
		// The concurrent read reports an outage.
		if errors.Is(err, client.ErrLeaseLost) || errors.Is(err, client.ErrRunState) {
			cancel(err)
			return
		}
	}
}

// refuse fails the run and returns the error for a decision about a different request.
func (g *gate) refuse(ctx context.Context, claim *api.Claim, loudly string, why error) error {
	text := fmt.Sprintf("the decision on run %s does not match the request of this call: %s", claim.Run.RunID, console.Printable(why.Error(), false))
	g.fail(ctx, claim, text)
	return console.Failed(console.ExitForeign, "%s: %s\n"+
		"           Someone else has acted on this run.", loudly, text)
}

// fail ends the run with an error, so that it does not block its session.
func (g *gate) fail(ctx context.Context, claim *api.Claim, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // also if a signal ended the wait
	defer cancel()
	if _, err := g.FailRun(ctx, claim.Run.RunID, claim.Lease.Fence, text); err != nil {
		g.terminal.Say("run %s could not be failed: %v", claim.Run.RunID, err)
	}
}
