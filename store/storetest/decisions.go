package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// decisions walks a list of decisions by its cursor, and returns "run/request" of each.
func (h *harness) decisions(q reads.DecisionQuery) []string {
	h.Helper()
	var found []string
	for range 100 {
		page, err := h.store.Decisions(h.ctx, q)
		require.NoError(h, err)
		require.LessOrEqual(h, len(page), q.Limit)
		for i := range page {
			found = append(found, page[i].Request.RunID+"/"+page[i].Request.RequestID)
		}
		if len(page) < q.Limit {
			return found
		}
		last := page[len(page)-1].Request
		q.After = &reads.DecisionPosition{SettledAtMs: last.SettledAtMs, Handle: last.Handle}
	}
	require.Fail(h, "the list does not end")
	return nil
}

var decisionTests = map[string]func(*harness){
	"decisions/newest first, page by page, by every filter": func(h *harness) {
		h.wait("s-1", "r-1", approvals("a", "b", "c"))
		h.do(&runs.ResolveApprovals{RunID: "r-1", Resolutions: allow("a"), Actor: runs.Actor{Name: "ada"}})
		h.clock.Advance(10)
		h.do(&runs.ResolveApprovals{RunID: "r-1", Resolutions: []runs.ApprovalDecision{{RequestID: "b", Behavior: api.BehaviorDeny, Reason: "no"}}, Actor: runs.Actor{Name: "ben"}})
		h.clock.Advance(10)
		h.do(&runs.CreateRun{SessionID: "s-2", SessionGiven: true, RunID: "r-2", AgentID: "coder", Input: api.JSON(`1`)})
		h.do(&runs.Suspend{RunID: "r-2", Fence: h.claim("r-2"), Suspension: questions("q")})
		h.do(&runs.AnswerQuestion{RunID: "r-2", Resolution: answer("q", "left"), Actor: runs.Actor{Name: "ada"}})
		settledAtMs := h.run("r-2").Run.UpdatedAtMs

		everything := []string{"r-2/q", "r-1/b", "r-1/a"}
		for _, limit := range []int{1, 2, 3, 4} {
			require.Equal(h, everything, h.decisions(reads.DecisionQuery{Limit: limit}), "an open request is none")
		}
		for _, test := range []struct {
			query reads.DecisionQuery
			want  []string
		}{
			{reads.DecisionQuery{SessionID: "s-1"}, []string{"r-1/b", "r-1/a"}},
			{reads.DecisionQuery{SessionID: "nobody"}, nil},
			{reads.DecisionQuery{AgentID: "coder"}, []string{"r-2/q"}},
			{reads.DecisionQuery{ResolvedBy: "ada"}, []string{"r-2/q", "r-1/a"}},
			{reads.DecisionQuery{ResolvedBy: "ada", SessionID: "s-1"}, []string{"r-1/a"}},
			{reads.DecisionQuery{ResolvedBy: "ad"}, nil},
			{reads.DecisionQuery{ResolvedBy: "\xff\x00"}, nil},
			{reads.DecisionQuery{Outcome: api.OutcomeDenied}, []string{"r-1/b"}},
			{reads.DecisionQuery{SinceMs: settledAtMs - 10}, []string{"r-2/q", "r-1/b"}},
			{reads.DecisionQuery{SinceMs: settledAtMs + 1}, nil},
		} {
			query := test.query
			query.Limit = 2
			require.Equal(h, test.want, h.decisions(query), "%+v", test.query)
			count, err := h.store.CountDecisions(h.ctx, test.query)
			require.NoError(h, err)
			require.Equal(h, int64(len(test.want)), count, "%+v", test.query)
		}
	},
	"decisions/of one moment, each once": func(h *harness) {
		ids := []string{"a", "b", "c", "d", "e"}
		h.wait("s", "r", approvals(ids...))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow(ids...), Actor: person})
		for _, limit := range []int{1, 2, 5, 6} {
			found := h.decisions(reads.DecisionQuery{Limit: limit})
			slices.Sort(found)
			require.Equal(h, []string{"r/a", "r/b", "r/c", "r/d", "r/e"}, found)
		}
	},
	"decisions/say what became of the run": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		handle := h.run("r").Requests[0].Handle
		open, err := h.store.DecisionByHandle(h.ctx, handle)
		require.NoError(h, err)
		require.Equal(h, api.StatusWaitingForApproval, open.RunStatus)
		require.Empty(h, open.Request.ResolvedBy)
		h.do(&runs.CancelRun{RunID: "r", Actor: person})
		settled, err := h.store.DecisionByHandle(h.ctx, handle)
		require.NoError(h, err)
		require.Equal(h, api.StatusCancelled, settled.RunStatus)
		require.Equal(h, api.OutcomeCancelled, settled.Request.Outcome)
		require.Equal(h, settled.Request.Recorded().ResolvedBy, settled.Request.ResolvedBy)
		listed, err := h.store.Decisions(h.ctx, reads.DecisionQuery{Limit: 10})
		require.NoError(h, err)
		require.Equal(h, []model.DecidedRequest{*settled}, listed)
		for _, unknown := range []string{"", "nothing", "nul\x00", "\xff", "a"} {
			_, err := h.store.DecisionByHandle(h.ctx, unknown)
			requireCode(h, api.CodeRequestNotFound, err)
		}
	},
	"decisions/a clarification is listed where it was asked": func(h *harness) {
		fence := h.child("asker")
		runID := h.ask("asker", fence, "q", true)
		h.carryOut()
		h.do(&runs.AnswerQuestion{RunID: runID, Resolution: answer("q", "left"), Actor: person})
		h.carryOut()
		require.Equal(h, []string{runID + "/q"}, h.decisions(reads.DecisionQuery{Limit: 10}))
		_, err := h.store.DecisionByHandle(h.ctx, h.onlyRequest("asker").Handle)
		requireCode(h, api.CodeRequestNotFound, err)
	},
	"leases/those in force, of runs that go on and of attached ones": func(h *harness) {
		h.create("s-1", "r-1")
		h.create("s-2", "r-2")
		h.create("s-3", "r-3")
		h.create("s-4", "r-4")
		for runID, worker := range map[string]string{"r-1": "w-2", "r-2": "w-1", "r-3": "w-1"} {
			h.do(&runs.ClaimRun{RunID: runID, WorkerID: worker, LeaseMs: 1_000})
		}
		fence := h.run("r-2").Run.Fence
		held := approvals("a")
		held.Hold = true
		h.do(&runs.Suspend{RunID: "r-2", Fence: fence, Suspension: held})
		h.do(&runs.Suspend{RunID: "r-3", Fence: h.run("r-3").Run.Fence, Suspension: approvals("a")})
		leases := func(q reads.LeaseQuery) (ids []string) {
			leased, nowMs, err := h.store.LeasedRuns(h.ctx, q)
			require.NoError(h, err)
			for i := range leased {
				require.Greater(h, leased[i].LeaseExpiresAtMs, nowMs)
				require.Equal(h, h.run(leased[i].RunID).Run, leased[i])
				ids = append(ids, leased[i].WorkerID+"/"+leased[i].RunID)
			}
			return ids
		}
		require.Equal(h, []string{"w-1/r-2", "w-2/r-1"}, leases(reads.LeaseQuery{Limit: 10}), "queued and let go: nobody holds them")
		require.Equal(h, []string{"w-1/r-2"}, leases(reads.LeaseQuery{Limit: 1}))
		h.do(&runs.CreateRun{SessionID: "s-5", SessionGiven: true, RunID: "call", Kind: api.KindCall, Input: api.JSON(`1`), Suspend: &held, Claim: &api.ClaimOptions{WorkerID: "w-0", LeaseMs: 1_000}})
		require.Equal(h, []string{"w-1/r-2", "w-2/r-1", "w-0/call"}, leases(reads.LeaseQuery{Limit: 10}), "many that wait for a decision hide no worker")
		require.Equal(h, []string{"w-1/r-2", "w-2/r-1"}, leases(reads.LeaseQuery{Limit: 2, WithoutCalls: true}))
		h.clock.Advance(1_000)
		require.Empty(h, leases(reads.LeaseQuery{Limit: 10}))
	},
}
