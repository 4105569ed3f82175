package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

// keeper renews the lease of a run while its command runs.
type keeper struct {
	gate *gate
	// fence and takenOver may be read when the keeper has stopped.
	fence     string
	attemptID string
	takenOver bool
}

// keep renews the lease until stop is called. stop waits until no renewal is in flight.
// It calls cancelled when the run was cancelled or interrupted.
func (k *keeper) keep(cancelled func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(k.gate.lease / 3)
		defer ticker.Stop()
		for !k.takenOver {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if k.renew(ctx) {
				k.gate.terminal.Say("run %s was cancelled; the command was told to stop", k.gate.params.RunID)
				cancelled()
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// renew sends one heartbeat and reports whether the run was cancelled.
func (k *keeper) renew(ctx context.Context) (cancelled bool) {
	ctx, cancel := context.WithTimeout(ctx, k.gate.lease)
	defer cancel()
	kept, err := k.gate.Heartbeat(ctx, k.gate.params.RunID, client.HeartbeatParams{
		Fence: k.fence, LeaseMs: k.gate.lease.Milliseconds(),
	})
	switch {
	case err == nil:
		k.gate.sayBack()
		k.takenOver = kept.CancelRequested
		return kept.CancelRequested
	case errors.Is(err, client.ErrLeaseLost):
		k.reclaim(ctx)
	case errors.Is(err, client.ErrRunState), errors.Is(err, client.ErrNotFound):
		k.takenOver = true
	default:
		if ctx.Err() == nil {
			k.gate.sayLost(err)
		}
	}
	return false
}

// reclaim takes the lease again after it lapsed and another call with the same key
// looked at the run. That call found the record of this start and let go; one with
// --rerun has written a record of its own, and then the run is no longer ours.
func (k *keeper) reclaim(ctx context.Context) {
	runID := k.gate.params.RunID
	claim, err := k.gate.ClaimRun(ctx, runID, api.ClaimOptions{
		WorkerID: workerID(k.gate.noun), LeaseMs: k.gate.lease.Milliseconds(),
	})
	var gone *client.Error
	switch {
	case errors.Is(err, client.ErrRunNotClaimable):
		// Somebody holds it, or it is over; only the latter is for good.
		if view, err := k.gate.GetRun(ctx, runID); err == nil && model.Terminal(view.Status) {
			k.takenOver = true
		}
		return
	case errors.As(err, &gone) && !console.Transient(err):
		k.takenOver = true
		return
	case err != nil:
		return // the next attempt may find the service again
	}
	if startRecordOf(claim.Checkpoint).AttemptID != k.attemptID {
		k.takenOver = true
		_, _ = k.gate.ReleaseRun(ctx, runID, claim.Lease.Fence, nil) // it lapses otherwise
		return
	}
	k.fence = claim.Lease.Fence
}
