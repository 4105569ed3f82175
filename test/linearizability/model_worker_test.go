//go:build unix && faults

package linearizability

import (
	"math"

	"github.com/holdpoint/holdpoint/api"
)

// The calls of workers. The methods change the run and return the code of the refusal.

func (r *run) create(in input) {
	if r.Exists {
		return
	}
	*r = run{Exists: true, Status: api.StatusQueued}
	r.recordKey(in)
}

// claim gives the next fence to a caller if the run can continue and has no lease. No caller learns
// of a lease that outlasts the call.
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
		// The service releases a run that it claimed for a disconnected caller.
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
	if in.Fence == r.Fence && r.Status == api.StatusCancelled && r.LeaseEnd == leaseRevoked {
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

// repeatsWork: the same call was made before, and the reply is the current state, whichever worker
// holds the run by then.
func (r *run) repeatsWork(in input) bool {
	switch in.Kind {
	case callRelease:
		return r.Released[in.Variant].has(in.Fence)
	case callSuspend:
		return r.raisedUnder(in) && r.raised(in.Round) == raising(in)
	case callComplete:
		return in.Fence == r.Fence && r.LeaseEnd == leaseCompleted && r.Result == in.Mark
	default:
		return false
	}
}

// raisedUnder: there is a suspension with this id, which is formed from its number and fence. Its
// requests may differ.
func (r *run) raisedUnder(in input) bool {
	return in.Round < r.Rounds && r.RaisedUnder[in.Round] == in.Fence
}

// raised returns the requests of a suspension as they were asked.
func (r *run) raised(round int) (requests [requestsPerRound]request) {
	for i := range requests {
		requests[i] = r.Requests[round*requestsPerRound+i]
		requests[i].settled = settled{}
	}
	return requests
}

// raising returns the requests that a suspension asks for.
func raising(in input) (requests [requestsPerRound]request) {
	for _, one := range in.Asked {
		requests[one.Slot-in.Round*requestsPerRound] = one.request()
	}
	return requests
}

func (a asked) request() request {
	return request{Raised: true, Question: a.Question, DueAtMs: a.DueAtMs}
}

func (r *run) release(in input) api.Code {
	if r.repeatsWork(in) {
		return ""
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	r.LeaseEnd = leaseReleased
	r.Released[in.Variant].add(in.Fence)
	r.claimableNow()
	return ""
}

func (r *run) suspend(in input) api.Code {
	switch {
	case r.repeatsWork(in):
		return ""
	case in.Fence == r.Fence && r.raisedUnder(in) && !terminal(r.Status):
		return api.CodeIDConflict
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	if in.Round != r.Rounds {
		return api.CodeIDConflict
	}
	r.RaisedUnder[in.Round] = in.Fence
	r.Rounds++
	r.LeaseEnd = leaseSuspended
	for _, one := range in.Asked {
		r.Requests[one.Slot] = one.request()
	}
	r.waitOrGoOn()
	return ""
}

func (r *run) complete(in input) api.Code {
	if r.repeatsWork(in) {
		return ""
	}
	if code := r.holder(in.Fence); code != "" {
		return code
	}
	r.Result = in.Mark
	r.end(api.StatusCompleted, leaseCompleted)
	return ""
}
