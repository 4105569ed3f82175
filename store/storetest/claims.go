package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var claimTests = map[string]func(*harness){
	"claim/a stale fence changes nothing": func(h *harness) {
		h.create("s", "r")
		first := h.claim("r")
		h.clock.Advance(api.DefaultLeaseMs)
		second := h.claim("r")
		require.Greater(h, second, first)
		before := h.run("r")
		for _, command := range []runs.Command{
			&runs.Heartbeat{RunID: "r", Fence: first},
			&runs.Suspend{RunID: "r", Fence: first, Suspension: approvals("a")},
			&runs.AppendEvents{RunID: "r", Fence: first, Events: []api.JSON{api.JSON(`{"type":"note"}`)}},
			&runs.Complete{RunID: "r", Fence: first},
			&runs.Fail{RunID: "r", Fence: first, Error: "x"},
			&runs.Release{RunID: "r", Fence: first},
			&runs.Withdraw{RunID: "r", Fence: first, RequestID: "a"},
		} {
			h.refuse(api.CodeLeaseLost, command)
		}
		require.Equal(h, before, h.run("r"))
	},
	"claim/one of two gets it": func(h *harness) {
		h.create("s", "r")
		h.claim("r")
		h.refuse(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})
	},
	"claim/a lapsed lease is claimable again and can be revived before": func(h *harness) {
		fence := h.started("s", "r")
		h.clock.Advance(api.DefaultLeaseMs - 1)
		require.Empty(h, h.claimable())
		h.clock.Advance(1)
		require.Equal(h, []string{"r"}, h.claimable())
		beat := h.do(&runs.Heartbeat{RunID: "r", Fence: fence})
		require.Equal(h, h.clock.NowMs()+api.DefaultLeaseMs, beat.LeaseExpiresAtMs)
		require.Empty(h, h.claimable())
	},
	"claim/attempts without progress end the run": func(h *harness) {
		h.create("s", "r")
		for attempt := int64(1); attempt <= 3; attempt++ {
			reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
			require.Equal(h, attempt, reply.Claim.Attempt)
			h.clock.Advance(api.DefaultLeaseMs)
		}
		h.refuse(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
		record := h.run("r")
		require.Equal(h, api.StatusFailed, record.Run.Status)
		require.Contains(h, record.Run.Error, "3 attempts")
		require.Empty(h, h.claimable())
	},
	"claim/progress starts the attempts again": func(h *harness) {
		h.create("s", "r")
		for range 5 {
			reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
			h.do(&runs.Heartbeat{RunID: "r", Fence: fenceOf(h, reply), Checkpoint: api.JSON(`1`)})
			h.clock.Advance(api.DefaultLeaseMs)
		}
		require.Equal(h, api.StatusRunning, h.run("r").Run.Status)
	},
	"claim/released runs are claimable at once and do not count": func(h *harness) {
		h.create("s", "r")
		for range 5 {
			reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 2})
			require.Equal(h, int64(1), reply.Claim.Attempt)
			released := h.do(&runs.Release{RunID: "r", Fence: fenceOf(h, reply)})
			require.False(h, released.Existing)
			require.True(h, h.do(&runs.Release{RunID: "r", Fence: fenceOf(h, reply)}).Existing)
			require.Equal(h, []string{"r"}, h.claimable())
		}
	},
	"claim/by agent, in the order of becoming claimable": func(h *harness) {
		for n, agent := range []string{"b", "a", "c", "a", "b"} {
			h.do(&runs.CreateRun{SessionID: numbered("s", n), SessionGiven: true, RunID: numbered("r", n), AgentID: agent, Input: api.JSON(`1`)})
			if n%2 == 1 {
				h.clock.Advance(1)
			}
		}
		require.Equal(h, []string{"r-000", "r-001", "r-002", "r-003", "r-004"}, h.claimable())
		require.Equal(h, []string{"r-001", "r-003"}, h.claimable("a"))
		require.Equal(h, []string{"r-000", "r-002", "r-004"}, h.claimable("c", "b", "c"))
		require.Empty(h, h.claimable("nobody"))
		require.Empty(h, h.claimable(unknownIDs...))
		list, err := h.store.Claimable(h.ctx, reads.ClaimableQuery{AgentIDs: []string{"a", "b"}, Limit: 3})
		require.NoError(h, err)
		require.Equal(h, []reads.Claimable{
			{RunID: "r-000", SessionID: "s-000", AgentID: "b", ClaimableAtMs: clockStart},
			{RunID: "r-001", SessionID: "s-001", AgentID: "a", ClaimableAtMs: clockStart},
			{RunID: "r-003", SessionID: "s-003", AgentID: "a", ClaimableAtMs: clockStart + 1},
		}, list)
	},
	"claim/a cancelled run tells its holder": func(h *harness) {
		fence := h.started("s", "r")
		h.do(&runs.CancelRun{RunID: "r", Reason: "no", Actor: person})
		require.True(h, h.do(&runs.Heartbeat{RunID: "r", Fence: fence}).CancelRequested)
		h.refuse(api.CodeLeaseLost, &runs.Complete{RunID: "r", Fence: fence})
	},
}
