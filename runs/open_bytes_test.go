package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func TestOpenRequestsOfARunAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	fence := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Run.Run.Fence
	raise := func(id string, bytes int) error {
		return h.do2(&runs.Suspend{RunID: "r", Fence: fence, Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{{
			ID: id, ToolCallID: "c", ToolName: "bash", Input: api.JSON(`"` + strings.Repeat("x", bytes-2) + `"`),
		}}}})
	}
	for _, id := range numbered("a-%d", 8) {
		require.NoError(t, raise(id, 1_000_000))
	}
	require.NoError(t, raise("small", 300_000), "what still fits")
	before := copyState(h.states["s"])
	requireCode(t, api.CodeSuspensionTooLarge, raise("large", 1_000_000))
	require.Equal(t, before.Requests, h.states["s"].Requests)
	h.must(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "a-1", Behavior: api.BehaviorAllow}}})
	require.NoError(t, raise("large", 1_000_000), "one was decided")
}
