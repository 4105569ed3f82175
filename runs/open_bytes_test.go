package runs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func TestOpenRequestsOfARunAreBoundedInBytes(t *testing.T) {
	h := parallelHouse(t)
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

// A worker that stays attached and never stores a checkpoint keeps all of its decisions in the next Resume.
func TestDecisionsThatNoCheckpointIncludesAreBounded(t *testing.T) {
	t.Parallel()
	attached := func(t *testing.T) (h *house, fence int64) {
		h = newHouse(t)
		h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
		return h, h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Run.Run.Fence
	}
	raise := func(h *house, fence int64, size int, ids ...string) error {
		s := api.Suspension{Hold: true}
		for _, id := range ids {
			s.Approvals = append(s.Approvals, api.ApprovalRequest{
				ID: id, ToolCallID: "c", ToolName: "bash", Input: api.JSON(`"` + strings.Repeat("x", size-2) + `"`),
			})
		}
		return h.do2(&runs.Suspend{RunID: "r", Fence: fence, Suspension: s})
	}
	allow := func(h *house, ids ...string) {
		command := &runs.ResolveApprovals{RunID: "r"}
		for _, id := range ids {
			command.Resolutions = append(command.Resolutions, runs.ApprovalDecision{RequestID: id, Behavior: api.BehaviorAllow})
		}
		h.must(command)
	}
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		h, fence := attached(t)
		for ids := range slices.Chunk(numbered("a-%d", 17), 6) {
			require.NoError(t, raise(h, fence, 1_000_000, ids...))
			allow(h, ids...)
		}
		requireCode(t, api.CodeSuspensionTooLarge, raise(h, fence, 100, "more"))
		h.must(&runs.Heartbeat{RunID: "r", Fence: fence, Checkpoint: api.JSON(`1`), SettledAfter: ms(10)})
		require.NoError(t, raise(h, fence, 100, "more"), "a checkpoint includes ten of them")
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		h, fence := attached(t)
		require.NoError(t, raise(h, fence, 10, "a"))
		allow(h, "a")
		state := copyState(h.states["s"])
		run, one := *state.Runs["r"], state.Requests[runs.RequestKey{RunID: "r", RequestID: "a"}]
		for _, id := range numbered("b-%d", api.MaxResumeRequests-1) {
			run.SettledCount++
			other := *one
			other.RequestID, other.SettledNumber = id, run.SettledCount
			state.Requests[runs.RequestKey{RunID: "r", RequestID: id}] = &other
		}
		state.Runs["r"] = &run
		more := func(s api.Suspension) error {
			s.Approvals = []api.ApprovalRequest{{ID: "more", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`)}}
			command := &runs.Suspend{RunID: "r", Fence: fence, Suspension: s}
			require.NoError(t, runs.Prepare(command, h.newID))
			require.NoError(t, runs.CheckValues(t.Context(), h, command))
			change, _, err := runs.Decide(state, command, h.nowMs)
			if err != nil {
				require.Empty(t, change.NewRequests)
			}
			return err
		}
		requireCode(t, api.CodeSuspensionTooLarge, more(api.Suspension{Hold: true}))
		requireCode(t, api.CodeSuspensionTooLarge, more(api.Suspension{}))
		run.Attached = false
		require.NoError(t, more(api.Suspension{Hold: true}), "the first held call of a claim")
		run.Attached = true
		ten := int64(10)
		require.NoError(t, more(api.Suspension{Hold: true, Checkpoint: api.JSON(`1`), SettledAfter: &ten}), "this checkpoint includes ten of them")
	})
}
