package ask

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// holdLease is long enough for two renewals that get lost.
const holdLease = 15 * time.Second

// Hold puts a call before people and waits until ctx ends. The request is open only for as long as
// a process waits for it: it is withdrawn when ctx ends, and by the service when the process was
// silent for twice the lease, as one is that was killed. The same call with the same key finds it
// until then. Errors: as of [Asker.Raise] and [Asker.Await].
func (a *Asker) Hold(ctx context.Context, call Call) (*Answer, error) {
	for {
		held, err := a.RaiseHeld(ctx, call)
		var answer *Answer
		if err == nil {
			answer, err = held.Await(ctx)
		}
		if err != nil && ctx.Err() != nil && held != nil {
			// It may be there although the reply was not waited for.
			err = errors.Join(context.Cause(ctx), a.withdrawEnded(ctx, held.RunID))
		}
		if held != nil {
			held.Release()
		}
		if err != nil || !answer.Again() {
			return answer, err
		}
	}
}

// Again reports whether a caller that waits must ask once more: another process has read the
// decision, or the service took this one for gone, as after the sleep of a computer.
func (a *Answer) Again() bool {
	return a.Spent || a.Outcome == api.OutcomeCancelled && a.Resolution.Via == api.ViaWorker && a.Resolution.ResolvedBy == api.ResolvedBySystem
}

// Held is a call that this process holds, or that it waits for with others.
type Held struct {
	*Raised
	asker *Asker
	stop  context.CancelFunc
	done  chan struct{}
}

// RaiseHeld raises a call as [Asker.Hold] does and renews its lease until Release is called. Errors:
// those of [Asker.Raise]. A run that may be there all the same is returned with the error.
func (a *Asker) RaiseHeld(ctx context.Context, call Call) (*Held, error) {
	lease := cmp.Or(a.Lease, holdLease)
	raised, err := a.raise(ctx, call, lease)
	if raised == nil {
		return nil, err
	}
	held := &Held{Raised: raised, asker: a, stop: func() {}, done: make(chan struct{})}
	if err != nil || raised.fence == "" {
		close(held.done)
		return held, err
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	held.stop = stop
	go func(fence string) {
		defer close(held.done)
		a.renew(renewing, raised.RunID, fence, lease)
	}(raised.fence)
	return held, nil
}

// Await waits until ctx ends. Errors: those of [Asker.Await].
func (h *Held) Await(ctx context.Context) (*Answer, error) { return h.asker.await(ctx, h.Raised, -1) }

// Release stops renewing the lease. The service withdraws what is still open, unless the same call
// comes before.
func (h *Held) Release() {
	h.stop()
	<-h.done
}

// withdrawal is for how long a process that ends tries to withdraw its call. It adds to the time
// limit of a hook.
const withdrawal = 2 * time.Second

// withdrawEnded withdraws the call of a process whose context has ended.
func (a *Asker) withdrawEnded(ctx context.Context, runID string) error {
	withdrawing, stop := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer stop()
	err := a.Withdraw(withdrawing, runID, "the agent does not wait for it any more")
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrRunState) {
		return nil // it was never there, or is over
	}
	return err
}

// renew renews the lease until ctx ends or it is lost.
func (a *Asker) renew(ctx context.Context, runID, fence string, lease time.Duration) {
	for sleep(ctx, lease/3) == nil {
		call, stop := context.WithTimeout(ctx, lease)
		_, err := a.Client.Heartbeat(call, runID, client.HeartbeatParams{Fence: fence, LeaseMs: lease.Milliseconds()})
		stop()
		if err != nil && !transient(err) && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			return
		}
	}
}
