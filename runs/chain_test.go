package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// TestEventsNameWhoCausedThem: an event names the decider, else the caller's principal, else the
// service. Each event is chained to the previous one.
func TestEventsNameWhoCausedThem(t *testing.T) {
	h := parallelHouse(t)
	agent := &auth.Identity{Principal: "agent:builder", Role: api.RoleAgent, Via: auth.ViaOpen}
	mara := &auth.Identity{Principal: "service:gateway", Role: api.RoleOperator, Via: auth.ViaOpen}
	h.must(&runs.Call{Command: &runs.CreateRun{RunID: "r", SessionID: "s", Input: api.JSON(`1`)}, Caller: agent})
	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", Principal: "agent:other"})
	h.must(&runs.Call{Command: &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"n":1, "type":"note"}`), api.JSON(`{"type":"output","content":"x"}`)}}, Caller: agent})
	h.must(&runs.Call{Command: suspend("r", 1, approval("a")), Caller: agent})
	h.must(&runs.Call{Command: &runs.ResolveApprovals{
		RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow}}, Actor: runs.Actor{Name: "user:mara"},
	}, Caller: mara})
	fence := h.claim("r")
	h.must(&runs.Complete{RunID: "r", Fence: fence})
	var acted []string
	prev := ""
	for _, event := range h.events["s"] {
		acted = append(acted, string(event.Type)+" "+event.Actor)
		require.Equal(t, prev, event.Prev)
		digest, err := event.DigestOfBody()
		require.NoError(t, err)
		require.Equal(t, digest, event.BodyDigest)
		prev = event.Hash()
	}
	require.Equal(t, []string{
		"accepted agent:builder", "queued agent:builder", "started agent:other", "note agent:builder", "output agent:builder", "waiting_for_approval agent:builder",
		"approval_resolved user:mara", "started user:mara", "completed system",
	}, acted)
	require.Equal(t, prev, h.states["s"].Session.LastEventHash)
}
