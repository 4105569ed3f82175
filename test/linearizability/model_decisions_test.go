//go:build unix && faults

package linearizability

import (
	"github.com/holdpoint/holdpoint/api"
)

// The calls of people. The methods change the run and return the code of the refusal.

// knowsKey: the reply is the one recorded under the call's key.
func (r *run) knowsKey(in input) bool {
	return in.Key != 0 && (r.Keys[0]|r.Keys[1])&keyBit(in) != 0
}

func keyBit(in input) uint64 { return 1 << in.Key }

func (r *run) recordKey(in input) {
	if in.Key != 0 {
		r.Keys[in.Variant] |= keyBit(in)
	}
}

// repeats answers a call by its key, when that is known.
func (r *run) repeats(in input) (code api.Code, known bool) {
	switch {
	case !r.knowsKey(in):
		return "", false
	case r.Keys[in.Variant]&keyBit(in) != 0:
		return "", true
	}
	return api.CodeIdempotencyConflict, true
}

func (r *run) resolve(in input) api.Code {
	if code, known := r.repeats(in); known {
		return code
	}
	switch {
	case terminal(r.Status):
		return api.CodeRunStateConflict
	case !r.isOpen(false):
		return api.CodeApprovalStateConflict
	}
	for _, one := range in.Decisions {
		if q := &r.Requests[one.Slot]; q.Question || !q.open() {
			return api.CodeApprovalNotPending
		}
	}
	for _, one := range in.Decisions {
		r.settle(one.Slot, one.Outcome, in.Mark)
	}
	r.waitOrGoOn()
	r.recordKey(in)
	return ""
}

// answer is an answer, a decline or a cancel of a question. The latter ends the run.
func (r *run) answer(in input) api.Code {
	if code, known := r.repeats(in); known {
		return code
	}
	slot := in.Decisions[0].Slot
	q := &r.Requests[slot]
	known := q.Raised && q.Question
	switch {
	case known && q.open():
	case r.isOpen(true):
		return api.CodeQuestionRequestMismatch
	case known && q.Outcome == api.OutcomeExpired:
		return api.CodeQuestionExpired
	default:
		return api.CodeQuestionStateConflict
	}
	r.settle(slot, in.Decisions[0].Outcome, in.Mark)
	if in.Kind == callCancelQuestion {
		r.cancel(actorOf(in.Mark))
	} else {
		r.waitOrGoOn()
	}
	r.recordKey(in)
	return ""
}

// recordedAsTold: a refusal shows the actual decision, and shows it whenever possible.
func (r *run) recordedAsTold(in input, out output) bool {
	slot, recorded := r.recorded(in, out.Code)
	return out.RecordedSlot == slot && out.Recorded.Outcome == recorded.Outcome &&
		actorOf(out.Recorded.Mark) == actorOf(recorded.Mark)
}

// recorded returns the settled request of a refused call and its result, or nothing.
func (r *run) recorded(in input, code api.Code) (slot int, recorded settled) {
	if code == api.CodeIdempotencyConflict || code == api.CodeRunNotFound {
		return 0, settled{}
	}
	for _, one := range in.Decisions {
		q := &r.Requests[one.Slot]
		fits := q.Question == (in.Kind != callResolve)
		switch {
		case q.Outcome != "" && (fits || in.Kind == callResolve):
			return one.Slot, q.settled
		case code == api.CodeApprovalNotPending && !(q.open() && fits):
			return 0, settled{} // the first item that is at fault
		}
	}
	return 0, settled{}
}

// answeredAsTold: the reply matches the state that the call found and changed.
func (r *run) answeredAsTold(before run, in input, out output, call moment) bool {
	switch in.Kind {
	case callCreate:
		return out.Repeated == before.Exists
	case callClaim:
		return out.Fence == r.Fence && out.lapsesAfter(in.LeaseMs, call) && out.Settled == r.resume()
	case callHeartbeat:
		cancelled := r.Status == api.StatusCancelled
		return out.CancelRequested == cancelled && (cancelled || out.lapsesAfter(in.LeaseMs, call))
	case callResolve, callAnswer, callCancelQuestion:
		return out.Repeated == before.knowsKey(in)
	case callCancelRun:
		return out.Status == r.Status
	case callRead:
		return out.Status == r.Status && out.Open == r.shownOpen() &&
			(out.Status != api.StatusRunning || out.Settled == r.resume()) && out.Result == r.Result
	case callRelease, callSuspend, callComplete:
		return out.Repeated == before.repeatsWork(in) && (!out.Repeated || out.Status == r.Status)
	}
	panic("no such call: " + in.Kind)
}

// lapsesAfter: the lease that the call was given runs from the moment of the call, by
// the database's clock.
func (out *output) lapsesAfter(leaseMs int64, call moment) bool {
	return out.LapsesAtMs >= call.earliestMs-clockToleranceMs+leaseMs && out.LapsesAtMs <= call.latestMs+leaseMs
}

// resume returns the results of the last suspension, as shown to a claim.
func (r *run) resume() (shown [maxSlots]settled) {
	from, to := r.lastRound()
	for slot := from; slot < to; slot++ {
		shown[slot] = r.Requests[slot].settled
	}
	return shown
}

func (r *run) shownOpen() (open [maxSlots]bool) {
	for slot := range open {
		open[slot] = r.Requests[slot].open()
	}
	return open
}
