package ask

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// holdLease is long enough for two lost renewals.
const holdLease = 15 * time.Second

// Hold raises a call and waits until ctx ends. The request is only open while a process
// waits for it: it is withdrawn when ctx ends, and by the service if the process (killed,
// for example) was silent for twice the lease. Until then the same call with the same key
// finds it. Errors: as of [Asker.Raise] and [Asker.Await].
func (a *Asker) Hold(ctx context.Context, call Call) (*Answer, error) {
	for {
		held, err := a.RaiseHeld(ctx, call)
		var answer *Answer
		if err == nil {
			answer, err = held.Await(ctx)
		}
		if err != nil && ctx.Err() != nil && held != nil {
			// The run may exist although its reply was not received.
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

// Try raises a call that cannot wait, and returns the decision if there is one at once, such as the
// decision of a rule or of an earlier call with the key; see [Asker.Defer] for handed. Otherwise it
// withdraws the request, with the reason, and the Outcome is empty. The service withdraws the request
// if this process is killed before. Errors: as of [Asker.Raise] and [Asker.Await].
func (a *Asker) Try(ctx context.Context, call Call, handed HandedOver, reason string) (*Answer, error) {
	for {
		answer, err := a.try(ctx, call, handed)
		if err == nil && !answer.settled() {
			return answer, a.Withdraw(ctx, answer.RunID, reason)
		}
		if err != nil || !answer.Again() {
			return answer, err
		}
	}
}

func (a *Asker) try(ctx context.Context, call Call, handed HandedOver) (*Answer, error) {
	held, err := a.RaiseHeld(ctx, call)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	held.take(handed)
	return a.await(ctx, held.Raised, 0)
}

// Again reports whether a waiting caller must ask again: another process has read the
// decision, or the service considered this one gone, for example while the computer slept.
func (a *Answer) Again() bool {
	return a.Spent || a.Outcome == api.OutcomeCancelled && a.Resolution.Via == api.ViaWorker && a.Resolution.ResolvedBy == api.ResolvedBySystem ||
		a.Ended == api.StatusCancelled && a.Run.Error == api.ErrorAgentGone
}

// Held is a call that this process holds, or waits for together with others.
type Held struct {
	*Raised
	asker *Asker
	stop  context.CancelFunc
	done  chan struct{}
}

// RaiseHeld raises a call as [Asker.Hold] does and renews its lease until Release is
// called. Errors: as [Asker.Raise]. Along with an error it returns the run that may
// nevertheless exist.
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

// Await waits until ctx ends. Errors: as [Asker.Await].
func (h *Held) Await(ctx context.Context) (*Answer, error) { return h.asker.await(ctx, h.Raised, -1) }

// Release stops renewing the lease. The service withdraws the open request unless the same
// call is repeated first.
func (h *Held) Release() {
	h.stop()
	<-h.done
}

// withdrawal bounds how long an ending process tries to withdraw its call. It adds to the
// time limit of a hook.
const withdrawal = 2 * time.Second

// withdrawEnded withdraws the call of a process whose context has ended.
func (a *Asker) withdrawEnded(ctx context.Context, runID string) error {
	withdrawing, stop := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer stop()
	err := a.Withdraw(withdrawing, runID, "the agent does not wait for it any more")
	if errors.Is(err, client.ErrNotFound) && !client.Away(err) || errors.Is(err, client.ErrRunState) {
		return nil // it does not exist, or has ended
	}
	return err
}

// renew renews the lease until ctx ends or the lease is lost.
func (a *Asker) renew(ctx context.Context, runID, fence string, lease time.Duration) {
	for sleep(ctx, lease/4) == nil {
		call, stop := context.WithTimeout(ctx, lease/4) // a long Retry-After must not outlast the lease
		_, err := a.Client.Heartbeat(call, runID, client.HeartbeatParams{Fence: fence, LeaseMs: lease.Milliseconds()})
		stop()
		if err != nil && !client.Away(err) && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			return
		}
	}
}
