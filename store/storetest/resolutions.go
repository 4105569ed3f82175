package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

var resolutionTests = map[string]func(*harness){
	"resolve/partly, then the rest, and the run resumes once": func(h *harness) {
		h.wait("s", "r", approvals("a", "b", "c"))
		h.do(&runs.ResolveApprovals{SessionID: "s", Resolutions: allow("b"), Actor: person})
		record := h.run("r")
		require.Equal(h, api.StatusWaitingForApproval, record.Run.Status)
		require.Len(h, record.Requests, 3, "the open ones and those of the Resume")
		require.Empty(h, h.claimable())
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
			{RequestID: "c", Behavior: api.BehaviorDeny, Reason: "too risky"},
			{RequestID: "a", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"make -n"}`)},
		}, Actor: person})
		require.Equal(h, []string{"r"}, h.claimable())
		reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(h, int64(1), reply.Claim.Attempt)
		var order []string
		for _, settled := range reply.Claim.Resume.Approvals {
			order = append(order, settled.Request.ID+"="+string(settled.Resolution.Outcome))
			require.Equal(h, "alice", settled.Resolution.ResolvedBy)
		}
		require.Equal(h, []string{"b=allowed", "c=denied", "a=allowed"}, order)
		require.Equal(h, `{"command":"make -n"}`, string(reply.Claim.Resume.Approvals[2].Resolution.UpdatedInput))
		// A second claim after an expired lease gets the same. Only the grants last as long as its
		// lease.
		h.clock.Advance(api.DefaultLeaseMs)
		again := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		renewed := reply.Claim.Resume.Approvals[0].Resolution.Grant.Exp + api.DefaultLeaseMs/1000
		require.Equal(h, again.Claim.Resume.Approvals[0].Resolution.Grant.Exp, renewed)
		require.Equal(h, reply.Claim.Resume.WithoutLease(), again.Claim.Resume.WithoutLease())
	},
	"resolve/the next suspension starts a new resume": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		fence := h.claim("r")
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: approvals("b")})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("b"), Actor: person})
		reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Len(h, reply.Claim.Resume.Approvals, 1)
		require.Equal(h, "b", reply.Claim.Resume.Approvals[0].Request.ID)
		settled := h.settledAfter("r", 0)
		require.Len(h, settled, 2)
	},
	"resolve/any bad item leaves every approval open and writes nothing": func(h *harness) {
		h.wait("s", "r", approvals("a", "b", "c", "settled"))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("settled"), Actor: person})
		before, events := h.run("r"), h.events("s")
		for _, bad := range []struct {
			id   string
			code api.Code
		}{
			{"unknown", api.CodeApprovalNotPending}, {"settled", api.CodeApprovalNotPending}, {"b", api.CodeApprovalDuplicate},
		} {
			for position := range 4 {
				batch := []string{"a", "b", "c"}
				batch = append(batch[:min(position, 3)], append([]string{bad.id}, batch[min(position, 3):]...)...)
				h.refuse(bad.code, &runs.ResolveApprovals{RunID: "r", Resolutions: allow(batch...), Actor: person, Key: "k"})
				require.Equal(h, before, h.run("r"))
				require.Equal(h, events, h.events("s"))
			}
		}
		h.refuse(api.CodeApprovalBatchEmpty, &runs.ResolveApprovals{RunID: "r", Resolutions: allow(), Actor: person})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a", "b", "c"), Actor: person, Key: "k"})
	},
	"resolve/too late is told what was recorded": func(h *harness) {
		h.wait("s", "r", approvals("a", "b"))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		late := h.refuse(api.CodeApprovalNotPending, &runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		require.Equal(h, &api.RecordedDecision{
			RequestID: "a", Outcome: api.OutcomeAllowed, ResolvedBy: "alice", ResolvedAtMs: clockStart, Via: api.ViaAPI,
		}, late.Recorded)
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("b"), Actor: person})
		late = h.refuse(api.CodeApprovalStateConflict, &runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		require.Equal(h, "a", late.Recorded.RequestID)
		h.do(&runs.Complete{RunID: "r", Fence: h.claim("r")})
		late = h.refuse(api.CodeRunStateConflict, &runs.ResolveApprovals{RunID: "r", Resolutions: allow("b"), Actor: person})
		require.Equal(h, "b", late.Recorded.RequestID)
		late = h.refuse(api.CodeRunStateConflict, &runs.ResolveApprovals{SessionID: "s", Resolutions: allow("b"), Actor: person})
		require.Equal(h, "b", late.Recorded.RequestID, "also by the session's route, when the run is over")
	},
	"answer/by the session, and late": func(h *harness) {
		h.wait("s", "r", questions("q"))
		h.refuse(api.CodeQuestionRequestMismatch, &runs.AnswerQuestion{SessionID: "s", Resolution: answer("other", "left"), Actor: person})
		h.do(&runs.AnswerQuestion{SessionID: "s", Resolution: answer("q", "left"), Actor: person})
		late := h.refuse(api.CodeQuestionStateConflict, &runs.AnswerQuestion{SessionID: "s", Resolution: answer("q", "left"), Actor: person})
		require.Equal(h, api.OutcomeAnswered, late.Recorded.Outcome)
		reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(h, "Which route?: Left", reply.Claim.Resume.Questions[0].Resolution.Summary)
	},
	"answer/declining goes on, cancelling ends": func(h *harness) {
		h.wait("s-1", "r-1", questions("q"))
		h.do(&runs.AnswerQuestion{RunID: "r-1", Resolution: runs.QuestionAnswer{RequestID: "q", Declined: true}, Actor: person})
		require.Equal(h, api.StatusRunning, h.run("r-1").Run.Status)

		h.wait("s-2", "r-2", questions("q", "other"))
		h.do(&runs.CancelQuestion{RunID: "r-2", RequestID: "q", Justification: "never mind", Actor: person})
		record := h.run("r-2")
		require.Equal(h, api.StatusCancelled, record.Run.Status)
		require.Equal(h, "user-question request q cancelled: never mind", record.Run.Error)
		settled := h.settledAfter("r-2", 0)
		require.Len(h, settled, 2)
		late := h.refuse(api.CodeQuestionStateConflict, &runs.CancelQuestion{RunID: "r-2", RequestID: "q", Actor: person})
		require.Equal(h, api.OutcomeCancelled, late.Recorded.Outcome)
	},
}
