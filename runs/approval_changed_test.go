package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A decision with the digest or handle of the reviewed request applies only to that request, so
// that an agent cannot swap the input.
func TestApprovalChanged(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), approval("b"))
	shown := h.request("r", "a").Approval()
	require.Equal(t, digestOf(string(shown.Input)), shown.InputDigest)

	decide := func(digest, handle string) *runs.ResolveApprovals {
		return &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
			{RequestID: "b", Behavior: api.BehaviorAllow},
			{RequestID: "a", Behavior: api.BehaviorAllow, InputDigest: digest, Handle: handle},
		}}
	}
	for name, command := range map[string]*runs.ResolveApprovals{
		"another input":                    decide(digestOf(`{"command":"rm -rf /data"}`), ""),
		"another handle":                   decide("", "req_other"),
		"the input with another handle":    decide(shown.InputDigest, "req_other"),
		"the handle with another input":    decide(digestOf(`null`), shown.Handle),
		"the handle of another of the run": decide("", h.request("r", "b").Handle),
	} {
		refused := h.refused(api.CodeApprovalChanged, command)
		require.Equal(t, &api.PendingApprovalRef{RequestID: "a", Handle: shown.Handle, InputDigest: shown.InputDigest}, refused.Pending, name)
		require.Equal(t, []string{"a", "b"}, h.record("r").View().PendingApprovalIDs, "%s: nothing of the batch is recorded", name)
	}

	// A denial is also bound to the reviewed request.
	denied := decide(digestOf(`null`), "")
	denied.Resolutions[1].Behavior = api.BehaviorDeny
	h.refused(api.CodeApprovalChanged, denied)

	h.must(decide(shown.InputDigest, shown.Handle))
	require.Equal(t, api.OutcomeAllowed, h.request("r", "a").Recorded().Outcome)
}

// The digest and the handle are part of a keyed call's fingerprint: a call with them differs from
// one without.
func TestApprovalDigestIsInTheFingerprint(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"approvals", "decisions"} {
		h := newHouse(t).wait("r", approval("a"))
		command := func(digest, handle string) runs.Command {
			given := []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow, InputDigest: digest, Handle: handle}}
			if face == "decisions" {
				return &runs.DecideRequests{RunID: "r", Approvals: given, Key: "k"}
			}
			return keyed(&runs.ResolveApprovals{RunID: "r", Resolutions: given}, "k")
		}
		digest, handle := h.request("r", "a").Approval().InputDigest, h.request("r", "a").Handle
		h.must(command(digest, handle))
		require.True(t, h.must(command(digest, handle)).Replayed)
		for _, other := range []runs.Command{
			command(digestOf(`0`), handle), command(digest, "req_other"), command(digest, ""), command("", handle), command("", ""),
		} {
			h.refused(api.CodeIdempotencyConflict, other)
		}
	}
}

// The service computes the digest and ignores one that an agent sends.
func TestRaisedDigestIsIgnored(t *testing.T) {
	h := parallelHouse(t)
	lying := approval("a")
	lying.InputDigest = "sha256:" + strings.Repeat("0", 64)
	h.wait("r", lying)
	shown := h.request("r", "a").Approval()
	require.Equal(t, digestOf(string(shown.Input)), shown.InputDigest)
}

// A stored request from before digests existed shows one.
func TestDigestOfAnOlderRow(t *testing.T) {
	t.Parallel()
	row := model.Request{Kind: model.KindApproval, Body: api.JSON(`{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"b":1.0,"a":"x"}}`)}
	require.Equal(t, digestOf(`{"a":"x","b":1}`), row.Approval().InputDigest)
}
