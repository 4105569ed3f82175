package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// call raises a call of an agent in the session s, which waits next to its session's queue.
func (h *harness) call(runID string, suspension api.Suspension) {
	h.do(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: runID, Kind: api.KindCall, Input: api.JSON(`"call"`), Suspend: &suspension,
	})
}

var callTests = map[string]func(*harness){
	"call/several wait at once, next to a run and its queue, and are decided in any order": func(h *harness) {
		h.wait("s", "active", approvals("a"))
		h.create("s", "queued")
		h.call("one", approvals("a1"))
		h.call("two", approvals("a2"))
		h.call("three", questions("q3"))
		view := h.session("s").View()
		require.Equal(h, "active", view.ActiveRun.RunID)
		require.Equal(h, []string{"queued"}, view.QueuedRunIDs)
		require.Len(h, view.PendingApprovals, 3)
		require.Len(h, view.PendingQuestions, 1)
		require.Equal(h, int64(1), h.session("s").Session.QueuedCount)

		h.do(&runs.ResolveApprovals{RunID: "two", Resolutions: allow("a2"), Actor: person})
		require.Equal(h, api.StatusRunning, h.run("two").Run.Status)
		require.Equal(h, api.StatusWaitingForApproval, h.run("one").Run.Status)
		fence := h.claim("two")
		h.do(&runs.Complete{RunID: "two", Fence: fence})
		require.Equal(h, "active", h.session("s").View().ActiveRun.RunID, "the end of a call frees no slot")
		require.Empty(h, h.claimable(), "and starts no queued run")
		h.do(&runs.ResolveApprovals{RunID: "active", Resolutions: allow("a"), Actor: person})
		h.do(&runs.Complete{RunID: "active", Fence: h.claim("active")})
		require.Equal(h, []string{"queued"}, h.claimable())
		require.Equal(h, api.StatusWaitingForApproval, h.run("one").Run.Status, "a call holds up no run")
	},
	"call/the session's routes reach it, with and without an active run": func(h *harness) {
		h.call("one", approvals("a1", "b1"))
		h.call("two", questions("q2"))
		h.do(&runs.ResolveApprovals{SessionID: "s", Resolutions: allow("b1"), Actor: person})
		require.Equal(h, api.StatusWaitingForApproval, h.run("one").Run.Status, "the other approval is still open")
		h.wait("s", "active", approvals("a"))
		h.do(&runs.ResolveApprovals{SessionID: "s", Resolutions: allow("a1"), Actor: person})
		require.Equal(h, api.StatusRunning, h.run("one").Run.Status)
		h.do(&runs.AnswerQuestion{SessionID: "s", Resolution: answer("q2", "left"), Actor: person})
		require.Equal(h, api.StatusRunning, h.run("two").Run.Status)
		require.Equal(h, api.StatusWaitingForApproval, h.run("active").Run.Status)
		late := h.refuse(api.CodeApprovalStateConflict, &runs.ResolveApprovals{SessionID: "s", Resolutions: allow("a1"), Actor: person})
		require.Equal(h, api.OutcomeAllowed, late.Recorded.Outcome)
	},
	"call/an interrupt and the end of the session end it": func(h *harness) {
		h.call("one", approvals("a1"))
		h.call("two", questions("q2"))
		require.True(h, h.do(&runs.InterruptSession{SessionID: "s", Reason: "stop", Actor: person}).Interrupted)
		for _, runID := range []string{"one", "two"} {
			require.Equal(h, api.StatusInterrupted, h.run(runID).Run.Status)
			require.Equal(h, api.OutcomeCancelled, h.onlyRequest(runID).Outcome)
		}
		h.call("three", approvals("a3"))
		h.do(&runs.EndSession{SessionID: "s", Actor: person})
		require.Equal(h, api.StatusCancelled, h.run("three").Run.Status)
		h.refuse(api.CodeSessionEnded, &runs.CreateRun{
			SessionID: "s", SessionGiven: true, Kind: api.KindCall, Input: api.JSON(`1`), Suspend: &api.Suspension{Approvals: approvals("a4").Approvals},
		})
	},
	"call/a session has a bounded number of them open": func(h *harness) {
		const each = 50
		for n := range api.MaxQueuedRuns / each {
			var ids []string
			for i := range each {
				ids = append(ids, fmt.Sprintf("a%d-%d", n, i))
			}
			h.call(fmt.Sprintf("run-%d", n), approvals(ids...))
		}
		full := func(runID string) error {
			suspension := approvals("more")
			_, err := h.store.Do(h.ctx, &runs.CreateRun{
				SessionID: "s", SessionGiven: true, RunID: runID, Kind: api.KindCall, Input: api.JSON(`1`), Suspend: &suspension,
			})
			return err
		}
		refused := new(refusal.Error)
		require.ErrorAs(h, full("more"), &refused)
		require.Equal(h, api.CodeQueueFull, refused.Code)
		h.do(&runs.CancelRun{RunID: "run-0", Actor: person})
		require.NoError(h, full("more"))
	},
	"call/a list of inputs may have them": func(h *harness) {
		h.call("one", approvals("a1"))
		h.create("s", "two")
		for _, query := range []reads.RunQuery{{}, {PriorityActive: true}, {SessionID: "s"}, {Last: true}} {
			query.Kind, query.Limit = api.KindInput, 10
			list := h.runs(query)
			require.Equal(h, []string{"two"}, runIDs(list))
			query.WithCalls = true
			list = h.runs(query)
			require.ElementsMatch(h, []string{"one", "two"}, runIDs(list))
			count, err := h.store.CountRuns(h.ctx, query)
			require.NoError(h, err)
			require.EqualValues(h, 2, count)
		}
	},
	"call/it needs something to wait for": func(h *harness) {
		h.refuse(api.CodeInvalidRequest, &runs.CreateRun{SessionID: "s", SessionGiven: true, Kind: api.KindCall, Input: api.JSON(`1`)})
	},
}
