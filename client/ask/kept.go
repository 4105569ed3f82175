package ask

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

const (
	// keeper is the worker of a kept call's lease, which every process that makes the call uses.
	keeper = "agent-call:kept"
	// firstFence is the fence of that lease: nobody can claim the run while it waits.
	firstFence = "1"
	// keptLease is longer than a read is held, and than an agent pauses between two calls.
	keptLease = 3 * time.Minute
	// keptRenewal bounds one renewal, so that an outage does not extend a short wait.
	keptRenewal = 5 * time.Second
)

// RaiseKept raises a call as [Asker.Raise] does. The service shows that nobody waits for the decision once no
// process has asked for it with [Asker.Await] for some minutes, and withdraws the open request after another while.
// A process that asks again, by the same key or for the same run, begins both again. A decision stays until it is read.
func (a *Asker) RaiseKept(ctx context.Context, call Call, while time.Duration) (*Raised, error) {
	call.keptFor = while
	return a.raise(ctx, call, keptLease)
}

// kept reports whether the run has the lease of a kept call.
func kept(run *api.RunView) bool { return run.Lease != nil && run.Lease.WorkerID == keeper }

// keep renews the lease of a kept call. If that fails, the next read finds out why.
func (a *Asker) keep(ctx context.Context, run *api.RunView) {
	if !kept(run) {
		return
	}
	renewing, stop := context.WithTimeout(ctx, keptRenewal)
	defer stop()
	_, _ = a.Client.Heartbeat(renewing, run.RunID, client.HeartbeatParams{Fence: firstFence, LeaseMs: keptLease.Milliseconds()})
}
