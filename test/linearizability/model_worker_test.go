//go:build unix

package linearizability

import (
	"math"

	"github.com/holdpoint/holdpoint/api"
)

// What workers call. The methods change the run and return the code of the refusal.

func (r *run) create(in input) {
	if r.Exists {
		return
	}
	*r = run{Exists: true, Status: api.StatusQueued}
	r.recordKey(in)
}

// claim gives the next fence to whoever comes when the run goes on and nobody has a
// lease on it. Of a lease that is not over before the call ends nobody is told.
func (r *run) claim(in input, out output, call moment) api.Code {
	goesOn := r.Status == api.StatusQueued || r.Status == api.StatusRunning
	mayBeFree := goesOn && r.ClaimableMinMs <= call.latestMs
	mayBeHeld := !goesOn || r.ClaimableMaxMs > call.earliestMs
	if refused := out.Code != ""; !mayBeFree || refused && mayBeHeld {
		return api.CodeRunNotClaimable
	}
	r.Status = api.StatusRunning
	r.Fence++
	r.LeaseEnd = leaseGoesOn
	r.ClaimableMinMs, r.ClaimableMaxMs = out.LapsesAtMs, out.LapsesAtMs
	if out.Unknown {
		// The service gives back what it claimed for somebody who is gone.
		r.ClaimableMinMs, r.ClaimableMaxMs = 0, math.MaxInt64
	}
	return ""
}

// holder returns why a fence is of no use any more.
func (r *run) holder(fence int64) api.Code {
	switch {
	case fence != r.Fence:
		return api.CodeLeaseLost
	case r.Status == api.StatusCompleted:
		return api.CodeRunStateConflict
	case r.LeaseEnd != leaseGoesOn:
		return api.CodeLeaseLost
	}
	return ""
}

func (r *run) heartbeat(in input, out output, call moment) api.Code {
	if in.Fence == r.Fence && r.Status == api.StatusCancelled {
		return ""
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	r.ClaimableMinMs, r.ClaimableMaxMs = out.LapsesAtMs, out.LapsesAtMs
	if out.Unknown {
		r.ClaimableMinMs, r.ClaimableMaxMs = call.earliestMs-clockToleranceMs+in.LeaseMs, math.MaxInt64
	}
	return ""
}

func (r *run) release(in input) api.Code {
	if in.Fence == r.Fence && r.LeaseEnd == leaseReleased {
		return ""
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	r.LeaseEnd = leaseReleased
	r.claimableNow()
	return ""
}

func (r *run) suspend(in input) api.Code {
	// A suspension is known by its number, and its lease by the fence: nobody claims a
	// run again before the suspension is over.
	if in.Fence == r.Fence && r.Rounds == in.Round+1 && !terminal(r.Status) && r.LeaseEnd == leaseSuspended {
		return ""
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	if in.Round != r.Rounds {
		return api.CodeIDConflict
	}
	r.Rounds++
	r.LeaseEnd = leaseSuspended
	for _, one := range in.Asked {
		r.Requests[one.Slot] = request{Raised: true, Question: one.Question, DueAtMs: one.DueAtMs}
	}
	r.waitOrGoOn()
	return ""
}

func (r *run) complete(in input) api.Code {
	if in.Fence == r.Fence && r.LeaseEnd == leaseCompleted && r.Result == in.Mark {
		return ""
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	r.Result = in.Mark
	r.end(api.StatusCompleted, leaseCompleted)
	return ""
}
