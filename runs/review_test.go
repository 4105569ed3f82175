package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Raising an approval enqueues its review once, unless a rule settles it at once.
func TestRaiseOwesReviews(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.AddRule{SessionID: "s", ToolName: "rm", Match: api.RuleMatch{AnyInput: true}})
	h.start("r")
	ruled := approval("ruled")
	ruled.ToolName = "rm"
	raise := func() *runs.Suspend {
		command := hold("r", 1, approval("a"), approval("b"), ruled, question("q"), expiringApproval("late", startMs))
		command.SuspensionID, command.ReviewRequestIDs = "wait", []string{"a", "ruled", "q", "late", "none"}
		return command
	}
	_, change := h.decided(raise())
	h.flush()
	handle := h.request("r", "a").Handle
	require.Len(t, change.NewEffects, 1)
	effect := change.NewEffects[0]
	require.Equal(t, model.Effect{
		SessionID: "s", EffectID: "review_approval:" + handle, RunID: "r", Kind: api.EffectReviewApproval,
		State: api.EffectPending, TargetSessionID: "s", Payload: effect.Payload, CreatedAtMs: h.nowMs, DueAtMs: h.nowMs,
	}, *effect)
	require.JSONEq(t, `{"session_id":"s","run_id":"r","agent_id":"default","request":{"id":"a","handle":"`+handle+`",
		"tool_call_id":"call-a","tool_name":"bash","input":{"command":"ls"},"input_digest":"sha256:4cf29611a66934862f29acfcc817e30b905c1ab73d5e65831413eb6b454d49db","scope":"","reason":"","created_at_ms":1000000}}`, string(effect.Payload))
	require.Equal(t, model.CarriedOutOutside, model.CarriedOutWhere(effect.Kind))
	require.Nil(t, commandOf(effect))
	require.Nil(t, commandWhenRefused(effect, api.CodeSessionEnded, h.nowMs))
	require.Equal(t, api.EffectReviewApproval, model.EffectKindOf(effect.EffectID))

	// The same suspension enqueues no second review, even if the first is done.
	require.True(t, h.must(raise()).Existing)
	require.Equal(t, api.EffectDone, h.attempt(effect.EffectID, "").State)
	require.True(t, h.must(raise()).Existing)
	require.Len(t, h.states["s"].Effects, 1)

	h.must(&runs.CreateRun{
		SessionID: "other", RunID: "made", Input: api.JSON(`1`), SessionGiven: true, ReviewRequestIDs: []string{"a"},
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a"), approval("b")}},
	})
	require.Len(t, h.states["other"].Effects, 1)
	h.checkHealthy()
}

// An older replica ignores effects of unknown kinds.
func TestUnknownEffectsAreCarriedOutNowhere(t *testing.T) {
	t.Parallel()
	effect := &model.Effect{EffectID: "sing:x", Kind: "sing", Payload: api.JSON(`{}`)}
	require.Equal(t, model.CarriedOutNowhere, model.CarriedOutWhere(effect.Kind))
	require.Nil(t, commandOf(effect))
	for _, kind := range []api.EffectKind{api.EffectOpenClarification, api.EffectDeliverAnswer} {
		require.Equal(t, model.CarriedOutInside, model.CarriedOutWhere(kind))
	}
}
