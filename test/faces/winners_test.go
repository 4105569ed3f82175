package faces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/test/rig"
)

// winner is a caller or an event that settles a prompt first.
type winner struct {
	name string
	// face and verb are a person's; face is nil for other winners.
	face Face
	verb Verb
	// with are additional request members that the winner needs.
	with func(t *testing.T, r *race) map[string]any
	// before runs before the prompt is raised, win after it.
	before, win func(t *testing.T, r *race)
	// hold: the worker stays attached.
	hold bool
	// ends: the run ends, so no other prompt can be open.
	ends bool
}

// winners returns everything that can settle a prompt of a kind.
func winners(kind Kind) []winner {
	var all []winner
	for _, face := range All() {
		for _, verb := range face.Verbs(kind) {
			all = append(all, winner{name: face.Name() + ", " + string(verb), face: face, verb: verb, ends: verb == Stop})
		}
	}
	all = append(all,
		winner{name: "the clock", with: soonDue, win: expire, ends: kind != Approval},
		winner{name: "an end of the run by an operator", win: cancelRun, ends: true},
		winner{name: "an interrupt", win: func(t *testing.T, r *race) {
			r.post(t, "/v1/sessions/"+r.SessionID+"/interrupt", map[string]any{"reason": "enough"})
		}, ends: true},
		winner{name: "the end of the session", win: func(t *testing.T, r *race) {
			r.post(t, "/v1/sessions/"+r.SessionID+"/end", map[string]any{})
		}, ends: true},
	)
	for _, face := range All() {
		if len(face.Verbs(kind)) > 0 {
			// The first late caller gets the right reply even if no sweep has run.
			all = append(all, winner{name: "the clock, unnoticed before " + face.Name(), face: nil, with: soonDue, win: due(face), ends: kind != Approval})
		}
	}
	if kind == Clarification {
		return all
	}
	worker := func(verb string, body map[string]any) func(*testing.T, *race) {
		return func(t *testing.T, r *race) {
			body["fence"] = r.Fence
			r.post(t, "/v1/runs/"+r.RunID+"/"+verb, body)
		}
	}
	all = append(all,
		winner{name: "the worker, which takes it back", hold: true, win: func(t *testing.T, r *race) {
			r.post(t, "/v1/runs/"+r.RunID+"/requests/"+r.prompt.RequestID+"/withdraw", map[string]any{"fence": r.Fence, "reason": "not needed"})
		}},
		winner{name: "the worker, which completes", hold: true, win: worker("complete", map[string]any{}), ends: true},
		winner{name: "the worker, which fails", hold: true, win: worker("fail", map[string]any{"error": "broken"}), ends: true},
	)
	if kind != Approval {
		return all
	}
	for _, effect := range []string{"allow", "deny"} {
		all = append(all, winner{name: "a rule, " + effect, before: func(t *testing.T, r *race) {
			r.post(t, "/v1/rules", map[string]any{
				"session_id": r.SessionID, "effect": effect, "match": map[string]any{"tool_call_id": "call-first"}, "reason": "house rule",
			})
		}, win: func(*testing.T, *race) {}})
	}
	return all
}

// soonDue sets a deadline in the near future.
func soonDue(t *testing.T, r *race) map[string]any {
	t.Helper()
	nowMs, err := r.s.store.NowMs(rig.Soon(t))
	require.NoError(t, err)
	r.dueAtMs = nowMs + 20
	if r.kind == Clarification {
		r.dueAtMs += 80 // raised later, by an effect
	}
	return map[string]any{"expires_at_ms": r.dueAtMs}
}

// expire waits for the deadline and runs the sweep.
func expire(t *testing.T, r *race) {
	r.s.passed(t, r.dueAtMs)
	_, err := r.s.store.Do(rig.Soon(t), &runs.ExpireRequests{SessionID: r.SessionID, RunID: r.prompt.RunID})
	require.NoError(t, err)
}

// due waits for the deadline and makes a late call before any sweep.
func due(face Face) func(*testing.T, *race) {
	return func(t *testing.T, r *race) {
		r.s.passed(t, r.dueAtMs)
		what := otherDecision(r.kind, face.Verbs(r.kind)[0])
		late, err := face.Decide(rig.Soon(t), r.Service, r.prompt, what)
		require.NoError(t, err)
		f := r.fate(t)
		require.Equal(t, "expired", f.recorded.Outcome)
		requireLost(t, face, what, f, late)
	}
}

func cancelRun(t *testing.T, r *race) {
	r.post(t, "/v1/runs/"+r.prompt.RunID+"/cancel", map[string]any{"reason": "not today"})
}
