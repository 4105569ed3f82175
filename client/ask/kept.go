package ask

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

const (
	// keeper is the worker of a kept call's lease, which every process that makes the call uses, and poller that of a
	// polled call.
	keeper = "agent-call:kept"
	poller = "agent-call:polled"
	// firstFence is the fence of that lease: nobody can claim the run while it waits.
	firstFence = "1"
	// keptLease is longer than a read is held, and than an agent pauses between two calls.
	keptLease = 3 * time.Minute
	// polledLease is longer than a client pauses between two looks, and than a person has a form before them.
	polledLease = 30 * time.Minute
	// polledPause is the time between two renewals: a client may poll every second, and each renewal is written.
	polledPause = 5 * time.Minute
	// keptRenewal bounds one renewal, so that an outage does not extend a short wait.
	keptRenewal = 5 * time.Second
)

// RaiseKept raises a call as [Asker.Raise] does. The service shows that nobody waits for the decision once no
// process has asked for it with [Asker.Await] for some minutes, and withdraws the open request after another while.
// A process that asks again, by the same key or for the same run, begins both again. A decision stays until it is read.
func (a *Asker) RaiseKept(ctx context.Context, call Call, while time.Duration) (*Raised, error) {
	call.keptBy, call.keptFor = keeper, while
	return a.raise(ctx, call, keptLease)
}

// RaisePolled is RaiseKept for a call that no process holds: its client counts as gone after half an hour.
func (a *Asker) RaisePolled(ctx context.Context, call Call, while time.Duration) (*Raised, error) {
	call.keptBy, call.keptFor = poller, while
	return a.raise(ctx, call, polledLease)
}

// renewal returns how long a look extends the lease of a kept or polled call; 0 for not at all. With a clock that differs
// from the service's, a look extends a lease more often than needed, or up to polledPause later.
func (a *Asker) renewal(run *api.RunView) time.Duration {
	lease := keptLeaseOf(run)
	if lease == polledLease && a.NowMs != nil {
		left := time.Duration(run.Lease.ExpiresAtMs-a.NowMs()) * time.Millisecond
		if left > polledLease-polledPause && left <= polledLease {
			return 0
		}
	}
	return lease
}

// keptLeaseOf returns the length of the lease of a kept or polled call; 0 for other runs.
func keptLeaseOf(run *api.RunView) time.Duration {
	switch {
	case run.Lease == nil:
	case run.Lease.WorkerID == keeper:
		return keptLease
	case run.Lease.WorkerID == poller:
		return polledLease
	}
	return 0
}

// keep renews the lease of a kept or polled call, unless lease is 0. If that fails, the next read finds out why.
func (a *Asker) keep(ctx context.Context, run *api.RunView, lease time.Duration) {
	if lease == 0 {
		return
	}
	renewing, stop := context.WithTimeout(ctx, keptRenewal)
	defer stop()
	_, _ = a.Client.Heartbeat(renewing, run.RunID, client.HeartbeatParams{Fence: firstFence, LeaseMs: lease.Milliseconds()})
}
