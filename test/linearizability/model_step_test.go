//go:build unix && faults

package linearizability

import (
	"hash/maphash"

	"github.com/anishathalye/porcupine"

	"github.com/holdpoint/holdpoint/api"
)

// clockSlackMs is by how much the moment that the database reads may differ from that
// of the test, which runs on the same machine: both round, and one of them may be
// stepped a little while a test runs.
const clockSlackMs = 20

// clockToleranceMs is by how much a lease may be reckoned from an earlier moment, when the
// replica did not read the clock for it (the door's clockTolerance). Whether a deadline
// has passed is never a matter of tolerance.
const clockToleranceMs = 100

// model is the model of one run for the checker. There may be several runs that a call
// can find, because a deadline passes without any call.
func approvals() porcupine.Model {
	seed := maphash.MakeSeed()
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{run{}} },
		Step: func(state, in, out any) []any {
			var next []any
			for _, after := range step(state.(run), in.(input), out.(output)) {
				next = append(next, after)
			}
			return next
		},
		Hash:              func(state any) uint64 { return maphash.Comparable(seed, state.(run)) },
		DescribeOperation: func(in, out any) string { return describeCall(in.(input), out.(output)) },
		DescribeState:     func(state any) string { return state.(run).String() },
	}
	return nondeterministic.ToModel()
}

// step returns the possible runs after a call, or none if its reply is impossible.
func step(before run, in input, out output) []run {
	call := moment{earliestMs: in.CallMs - clockSlackMs, latestMs: out.ReturnMs + clockSlackMs}
	var after []run
	for _, r := range expiries(before, call.latestMs) {
		// The door checks deadlines first, except for calls without a decision.
		overdue := len(r.due(call.earliestMs)) > 0
		if overdue && in.Kind != callRead && !r.knowsKey(in) {
			continue
		}
		if r.take(in, out, call) {
			after = append(after, r)
		}
	}
	return after
}

// moment is when a call took effect: some time between the two.
type moment struct{ earliestMs, latestMs int64 }

// take changes the run by a call, and returns whether its reply is possible. An unknown call that
// can have no effect has none, and is always possible.
func (r *run) take(in input, out output, call moment) bool {
	before := *r
	code := r.do(in, out, call)
	if out.Unknown {
		if code != "" {
			*r = before
		}
		return true
	}
	if code != "" {
		*r = before
		return out.Code == code && r.recordedAsTold(in, out)
	}
	return out.Code == "" && r.answeredAsTold(before, in, out, call)
}

// do carries a call out and returns the code of the refusal, "" when there is none.
func (r *run) do(in input, out output, call moment) api.Code {
	switch {
	case in.Kind == callCreate:
		r.create(in)
		return ""
	case !r.Exists:
		return api.CodeRunNotFound
	}
	switch in.Kind {
	case callCreate, callRead:
		return ""
	case callClaim:
		return r.claim(in, out, call)
	case callHeartbeat:
		return r.heartbeat(in, out, call)
	case callRelease:
		return r.release(in)
	case callSuspend:
		return r.suspend(in)
	case callComplete:
		return r.complete(in)
	case callResolve:
		return r.resolve(in)
	case callAnswer, callCancelQuestion:
		return r.answer(in)
	case callCancelRun:
		if !terminal(r.Status) {
			r.cancel(actorOf(in.Mark))
		}
		return ""
	}
	panic("no such call: " + in.Kind)
}
