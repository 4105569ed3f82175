package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// onceLease is long enough for two renewals that get lost.
const onceLease = 15 * time.Second

// Once puts a call without a key before people and waits until ctx ends. Nobody can ask for its
// decision again, so it is open only for as long as this process is there: it is withdrawn when
// ctx ends, and by the service when the process was silent for twice the lease, as one is that
// was killed. It waits beside the queue of its session, where nothing of it would stay behind.
// Errors: as of [Asker.Raise] and [Asker.Await].
func (a *Asker) Once(ctx context.Context, call Call) (*Answer, error) {
	if call.Key != "" {
		return nil, fmt.Errorf("%w: a call with a key can be asked again", client.ErrInvalid)
	}
	params, err := a.paramsOf(call)
	if err != nil {
		return nil, err
	}
	lease := cmp.Or(a.Lease, onceLease)
	params.Claim = &api.ClaimOptions{WorkerID: workerID(), LeaseMs: lease.Milliseconds()}
	params.Suspend.Hold, params.Suspend.CancelWhenAbandoned = true, true
	answer, err := a.once(ctx, params, lease)
	if err != nil && ctx.Err() != nil {
		// It may be there although the reply was not waited for.
		withdrawing, stop := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
		defer stop()
		if failed := a.Withdraw(withdrawing, params.RunID, "nobody waits for it any more"); !errors.Is(failed, client.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return answer, err
}

// withdrawal is for how long a process that ends tries to withdraw its call.
const withdrawal = 5 * time.Second

func (a *Asker) once(ctx context.Context, params client.CreateRunParams, lease time.Duration) (*Answer, error) {
	created, err := a.inTurn(ctx, params)
	if err != nil {
		return nil, err
	}
	fence := ""
	if created.Claim != nil { // nil after a lost reply, when the lease has lapsed meanwhile
		fence = created.Claim.Lease.Fence
		renewing, stop := context.WithCancel(ctx)
		renewed := make(chan struct{})
		go func() {
			defer close(renewed)
			a.renew(renewing, params.RunID, fence, lease)
		}()
		defer func() {
			stop()
			<-renewed
		}()
	}
	answer, err := a.Await(ctx, params.RunID, -1)
	if err == nil && answer.Outcome != "" && fence != "" {
		// The decision stands also when this fails: whoever comes next ends the run.
		_, _ = a.Client.CompleteRun(ctx, params.RunID, fence, nil)
	}
	return answer, err
}

// inTurn makes the run as soon as its session has no other. While the service has never answered,
// nobody is waiting for a turn: its absence is told at once.
func (a *Asker) inTurn(ctx context.Context, params client.CreateRunParams) (*client.CreatedRun, error) {
	var patience time.Time
	for {
		asked := time.Now()
		created, err := a.Client.CreateRun(ctx, params)
		if errors.Is(err, client.ErrRunNotClaimable) {
			patience = time.Now().Add(a.patience())
			err = a.help(ctx, params.SessionID, turn)
		}
		switch {
		case created != nil:
			return created, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && (!transient(err) || time.Now().After(patience)):
			return nil, err
		}
		if err := sleep(ctx, pause-time.Since(asked)); err != nil {
			return nil, err
		}
	}
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
