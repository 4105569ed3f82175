package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var expiryTests = map[string]func(*harness){
	"expiry/due runs, earliest first": func(h *harness) {
		due := func() []string {
			list, err := h.store.Due(h.ctx, 10)
			require.NoError(h, err)
			ids := make([]string, len(list))
			for i := range list {
				ids[i] = list[i].SessionID + "/" + list[i].RunID
			}
			return ids
		}
		next := func() int64 {
			dueAtMs, nowMs, err := h.store.NextDueAtMs(h.ctx)
			require.NoError(h, err)
			require.Equal(h, h.clock.NowMs(), nowMs)
			return dueAtMs
		}
		require.Zero(h, next())
		h.wait("s-0", "r-0", approvals("never"))
		h.wait("s-1", "r-1", api.Suspension{Approvals: []api.ApprovalRequest{approvalDueAt("a", clockStart+20), approvalDueAt("b", clockStart+5)}})
		h.wait("s-2", "r-2", api.Suspension{Questions: []api.UserQuestionRequest{questionDueAt("q", clockStart+3)}})
		require.Empty(h, due())
		require.Equal(h, int64(clockStart+3), next())
		h.clock.Advance(3)
		require.Equal(h, []string{"s-2/r-2"}, due())
		h.clock.Advance(17)
		require.Equal(h, []string{"s-2/r-2", "s-1/r-1"}, due())
		open := func(kind model.RequestKind, atMs int64) (ids []string) {
			query := reads.RequestQuery{Kind: kind, Limit: 10, OpenAtMs: atMs}
			rows := h.pending(query)
			for i := range rows {
				ids = append(ids, rows[i].Request.RequestID)
			}
			count, err := h.store.CountPendingRequests(h.ctx, query)
			require.NoError(h, err)
			require.Len(h, ids, int(count))
			return ids
		}
		require.Equal(h, []string{"never", "a", "b"}, open(model.KindApproval, 0))
		require.Equal(h, []string{"never", "a"}, open(model.KindApproval, clockStart+19))
		require.Equal(h, []string{"never"}, open(model.KindApproval, clockStart+20), "what is due is left out")
		require.Empty(h, open(model.KindQuestion, clockStart+20))
		list, err := h.store.Due(h.ctx, 1)
		require.NoError(h, err)
		require.Len(h, list, 1)

		h.do(&runs.ExpireRequests{SessionID: "s-1", RunID: "r-1"})
		h.do(&runs.ExpireRequests{SessionID: "s-2", RunID: "r-2"})
		require.Empty(h, due())
		require.Zero(h, next())
		require.Equal(h, api.StatusCancelled, h.run("r-2").Run.Status)
		require.Equal(h, []string{"r-1"}, h.claimable(), "an expired approval is a denial; the run goes on")
		events := len(h.events("s-1"))
		h.do(&runs.ExpireRequests{SessionID: "s-1", RunID: "r-1"})
		require.Len(h, h.events("s-1"), events)
	},
	"expiry/an answer after the deadline expires the request on the spot": func(h *harness) {
		h.wait("s", "r", api.Suspension{Questions: []api.UserQuestionRequest{questionDueAt("q", clockStart+10)}})
		h.clock.Advance(10)
		refused := h.refuse(api.CodeQuestionExpired, &runs.AnswerQuestion{RunID: "r", Resolution: answer("q", "left"), Actor: person})
		require.Equal(h, api.OutcomeExpired, refused.Recorded.Outcome)
		require.Equal(h, api.ViaClock, refused.Recorded.Via)
		record := h.run("r")
		require.Equal(h, api.StatusCancelled, record.Run.Status, "the refusal is told and the expiry is durable")
		require.Equal(h, "user-question request q expired at 1750000000010", record.Run.Error)
	},
	"expiry/a deadline that is past when it is set": func(h *harness) {
		h.wait("s", "r", api.Suspension{Approvals: []api.ApprovalRequest{approvalDueAt("a", clockStart-1)}})
		require.Equal(h, []string{"r"}, h.claimable())
		reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(h, api.OutcomeExpired, reply.Claim.Resume.Approvals[0].Resolution.Outcome)
		require.Equal(h, api.BehaviorDeny, reply.Claim.Resume.Approvals[0].Resolution.Behavior)
	},
}
