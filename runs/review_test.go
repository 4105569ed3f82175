package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

func TestReviewApproval(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wait("r", approval("a"), approval("b"), question("q"), expiringApproval("late", startMs+10))
	review := func(id string) *runs.ReviewApproval {
		return &runs.ReviewApproval{RunID: "r", RequestID: id, Handle: h.request("r", id).Handle}
	}
	_, change, err := h.decide(review("a"))
	require.NoError(t, err)
	h.flush()
	require.Empty(t, change.Events)
	handle := h.request("r", "a").Handle
	require.Len(t, change.NewEffects, 1)
	effect := change.NewEffects[0]
	require.Equal(t, runs.Effect{
		SessionID: "s", EffectID: "review_approval:" + handle, RunID: "r", Kind: runs.EffectReviewApproval,
		State: runs.EffectPending, TargetSessionID: "s", Payload: effect.Payload, CreatedAtMs: h.nowMs, DueAtMs: h.nowMs,
	}, *effect)
	require.JSONEq(t, `{"session_id":"s","run_id":"r","agent_id":"default","request":{"id":"a","handle":"`+handle+`",
		"tool_call_id":"call-a","tool_name":"bash","input":{"command":"ls"},"created_at_ms":1000000}}`, string(effect.Payload))
	require.Equal(t, runs.CarriedOutOutside, runs.CarriedOutWhere(effect.Kind))
	require.Nil(t, effect.Command())
	require.Nil(t, effect.Refused(runs.CodeSessionEnded, h.nowMs))
	require.Equal(t, runs.EffectReviewApproval, runs.EffectKindOf(effect.EffectID))

	// Once for each approval, also when it was done, and not when it is settled.
	h.requireUnchanged(review("a"))
	require.Equal(t, runs.EffectDone, h.attempt(effect.EffectID, "").State)
	h.requireUnchanged(review("a"))
	h.must(allow("r", "b"))
	h.requireUnchanged(review("b"))
	h.nowMs += 10
	require.True(t, h.must(review("late")).Existing, "it expires first")
	require.Equal(t, runs.OutcomeExpired, h.request("r", "late").Outcome)
	require.Len(t, h.states["s"].Effects, 1)

	h.refused(runs.CodeRunNotFound, &runs.ReviewApproval{RunID: "none", RequestID: "a", Handle: handle})
	h.refused(runs.CodeRequestNotFound, &runs.ReviewApproval{RunID: "r", RequestID: "none", Handle: handle})
	h.refused(runs.CodeRequestNotFound, &runs.ReviewApproval{RunID: "r", RequestID: "b", Handle: handle})
	h.refused(runs.CodeRequestNotFound, review("q"))
	require.Equal(t, []string{"/handle"}, pointersOf(h.refused(runs.CodeInvalidRequest, &runs.ReviewApproval{RunID: "r", RequestID: "a"})))
	h.checkHealthy()
}

// A replica that is older than what a newer one wrote does nothing with it.
func TestUnknownEffectsAreCarriedOutNowhere(t *testing.T) {
	t.Parallel()
	effect := &runs.Effect{EffectID: "sing:x", Kind: "sing", Payload: runs.JSON(`{}`)}
	require.Equal(t, runs.CarriedOutNowhere, runs.CarriedOutWhere(effect.Kind))
	require.Nil(t, effect.Command())
	for _, kind := range []runs.EffectKind{runs.EffectOpenClarification, runs.EffectDeliverAnswer} {
		require.Equal(t, runs.CarriedOutInside, runs.CarriedOutWhere(kind))
	}
}
