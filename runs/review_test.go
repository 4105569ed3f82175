package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
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
	require.Equal(t, model.Effect{
		SessionID: "s", EffectID: "review_approval:" + handle, RunID: "r", Kind: api.EffectReviewApproval,
		State: api.EffectPending, TargetSessionID: "s", Payload: effect.Payload, CreatedAtMs: h.nowMs, DueAtMs: h.nowMs,
	}, *effect)
	require.JSONEq(t, `{"session_id":"s","run_id":"r","agent_id":"default","request":{"id":"a","handle":"`+handle+`",
		"tool_call_id":"call-a","tool_name":"bash","input":{"command":"ls"},"input_digest":"sha256:4cf29611a66934862f29acfcc817e30b905c1ab73d5e65831413eb6b454d49db","created_at_ms":1000000}}`, string(effect.Payload))
	require.Equal(t, model.CarriedOutOutside, model.CarriedOutWhere(effect.Kind))
	require.Nil(t, commandOf(effect))
	require.Nil(t, commandWhenRefused(effect, api.CodeSessionEnded, h.nowMs))
	require.Equal(t, api.EffectReviewApproval, model.EffectKindOf(effect.EffectID))

	// Once for each approval, also when it was done, and not when it is settled.
	h.requireUnchanged(review("a"))
	require.Equal(t, api.EffectDone, h.attempt(effect.EffectID, "").State)
	h.requireUnchanged(review("a"))
	h.must(allow("r", "b"))
	h.requireUnchanged(review("b"))
	h.nowMs += 10
	require.True(t, h.must(review("late")).Existing, "it expires first")
	require.Equal(t, api.OutcomeExpired, h.request("r", "late").Outcome)
	require.Len(t, h.states["s"].Effects, 1)

	h.refused(api.CodeRunNotFound, &runs.ReviewApproval{RunID: "none", RequestID: "a", Handle: handle})
	h.refused(api.CodeRequestNotFound, &runs.ReviewApproval{RunID: "r", RequestID: "none", Handle: handle})
	h.refused(api.CodeRequestNotFound, &runs.ReviewApproval{RunID: "r", RequestID: "b", Handle: handle})
	h.refused(api.CodeRequestNotFound, review("q"))
	require.Equal(t, []string{"/handle"}, pointersOf(h.refused(api.CodeInvalidRequest, &runs.ReviewApproval{RunID: "r", RequestID: "a"})))
	h.checkHealthy()
}

// A replica that is older than what a newer one wrote does nothing with it.
func TestUnknownEffectsAreCarriedOutNowhere(t *testing.T) {
	t.Parallel()
	effect := &model.Effect{EffectID: "sing:x", Kind: "sing", Payload: api.JSON(`{}`)}
	require.Equal(t, model.CarriedOutNowhere, model.CarriedOutWhere(effect.Kind))
	require.Nil(t, commandOf(effect))
	for _, kind := range []api.EffectKind{api.EffectOpenClarification, api.EffectDeliverAnswer} {
		require.Equal(t, model.CarriedOutInside, model.CarriedOutWhere(kind))
	}
}
