package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var suspensionTests = map[string]func(*harness){
	"suspend/both kinds, questions are shown first": func(h *harness) {
		fence := h.started("s", "r")
		suspension := questions("q")
		suspension.Approvals = approvals("a-1", "a-2").Approvals
		suspension.SuspensionID = "pause"
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: suspension})
		record := h.run("r")
		require.Equal(h, api.StatusWaitingForUserQuestion, record.Run.Status)
		require.Len(h, record.Requests, 3)
		for i, request := range record.Requests {
			require.Equal(h, int64(i+1), request.Number)
			require.Equal(h, "pause", request.SuspensionID)
			require.NotEmpty(h, request.Handle)
		}
		require.Empty(h, h.claimable())
		summaries, err := h.store.Sessions(h.ctx, reads.SessionQuery{Limit: 10})
		require.NoError(h, err)
		require.Equal(h, 2, summaries[0].PendingApprovals)
		require.Equal(h, 1, summaries[0].PendingQuestions)
		require.Equal(h, api.StatusWaitingForUserQuestion, summaries[0].Status)

		h.do(&runs.AnswerQuestion{RunID: "r", Resolution: answer("q", "left"), Actor: person})
		require.Equal(h, api.StatusWaitingForApproval, h.run("r").Run.Status)
	},
	"suspend/the same call again, and another payload": func(h *harness) {
		fence := h.started("s", "r")
		suspension := approvals("a")
		suspension.SuspensionID = "pause"
		require.False(h, h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: suspension}).Existing)
		events := len(h.events("s"))
		again := approvals("a")
		again.SuspensionID = "pause"
		require.True(h, h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: again}).Existing)
		other := approvals("b")
		other.SuspensionID = "pause"
		h.refuse(api.CodeIDConflict, &runs.Suspend{RunID: "r", Fence: fence, Suspension: other})
		require.Len(h, h.events("s"), events)

		// Even if everything in it is settled, and in another order of time.
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		settled := approvals("a")
		settled.SuspensionID = "pause"
		require.True(h, h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: settled}).Existing)
	},
	"suspend/a request id is used once in a run": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		for range 2 {
			fence := h.claim("r")
			suspension := approvals("b")
			suspension.Checkpoint = api.JSON(`1`)
			h.refuse(api.CodeIDConflict, &runs.Suspend{RunID: "r", Fence: fence, Suspension: approvals("a")})
			h.clock.Advance(api.DefaultLeaseMs)
		}
		// In another run, and in another session, it is another request.
		h.wait("s-2", "r-2", approvals("a"))
	},
	"suspend/hold keeps the lease and takes each answer in place": func(h *harness) {
		fence := h.started("s", "r")
		first := approvals("a")
		first.Hold = true
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: first})
		second := questions("q")
		second.Hold = true
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: second})
		require.True(h, h.run("r").Run.Attached)
		h.do(&runs.AnswerQuestion{RunID: "r", Resolution: answer("q", "right"), Actor: person})
		run, settled, err := h.store.SettledAfter(h.ctx, "r", 0)
		require.NoError(h, err)
		require.Equal(h, "r", run.RunID)
		require.Len(h, settled, 1)
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		settled = h.settledAfter("r", settled[0].SettledNumber)
		require.Len(h, settled, 1)
		require.Equal(h, "a", settled[0].RequestID)
		require.Equal(h, api.StatusRunning, h.run("r").Run.Status)
		require.Empty(h, h.claimable(), "the holder goes on under its lease")
		h.do(&runs.Complete{RunID: "r", Fence: fence})
	},
	"suspend/decisions are read within a limit of bytes": func(h *harness) {
		fence := h.started("s", "r")
		ids := []string{"a", "b", "c", "d", "e", "f"}
		for _, id := range ids {
			held := approvals(id)
			held.Hold = true
			held.Approvals[0].Input = api.JSON(`"` + strings.Repeat("x", 900_000) + `"`)
			h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: held})
			h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow(id), Actor: person})
		}
		settled := h.settledAfter("r", 0)
		require.Len(h, settled, api.MaxReplyBytes/900_000)
		settled = h.settledAfter("r", settled[len(settled)-1].SettledNumber)
		require.Len(h, settled, len(ids)-api.MaxReplyBytes/900_000)
		var all []string
		for request, err := range reads.Settled(h.ctx, h.store, "r") {
			require.NoError(h, err)
			all = append(all, request.RequestID)
		}
		require.Equal(h, ids, all)
		for _, err := range reads.Settled(h.ctx, h.store, "nobody") {
			require.Equal(h, api.CodeRunNotFound, refusal.CodeOf(err))
		}
	},
	"suspend/a holder that dies loses nothing": func(h *harness) {
		fence := h.started("s", "r")
		held := approvals("a", "b")
		held.Hold = true
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: held})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		h.clock.Advance(api.DefaultLeaseMs)
		require.Empty(h, h.claimable(), "what is open stays open")
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("b"), Actor: person})
		require.Equal(h, []string{"r"}, h.claimable())
		reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Len(h, reply.Claim.Resume.Approvals, 2)
	},
	"suspend/what the rows say of a run's worker": func(h *harness) {
		held, plain := approvals("a"), approvals("a")
		held.Hold = true
		for runID, c := range map[string]runs.CreateRun{
			"asked": {Suspend: &plain}, "own": {Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &plain},
			"held": {Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &held}, "queued": {}, "claimed": {}, "left": {},
		} {
			c.SessionID, c.SessionGiven, c.RunID, c.Input = "s-"+runID, true, runID, api.JSON(`1`)
			h.do(&c)
		}
		h.clock.Advance(1)
		h.do(&runs.Suspend{RunID: "claimed", Fence: h.claim("claimed"), Suspension: plain})
		h.do(&runs.Suspend{RunID: "left", Fence: h.claim("left"), Suspension: held})
		holdings, err := h.store.Holdings(h.ctx, []string{"asked", "own", "held", "queued", "claimed", "left", "unknown"})
		require.NoError(h, err)
		require.Equal(h, map[string]reads.Holding{
			"asked": {}, "queued": {}, "own": {Claims: 1, InOneStep: true}, "held": {Claims: 1, InOneStep: true, Attached: true},
			"claimed": {Claims: 1}, "left": {Claims: 1, Attached: true},
		}, holdings)
		watched := approvals("a")
		watched.Hold, watched.AbandonedAfterMs = true, 5_000
		handles := map[string]string{}
		for _, runID := range []string{"over", "decided", "released", "watched"} {
			h.do(&runs.CreateRun{
				SessionID: "s-" + runID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`),
				Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &watched,
			})
			handles[runID] = h.run(runID).Requests[0].Handle
		}
		h.do(&runs.CancelRun{RunID: "over"})
		h.do(&runs.ResolveApprovals{RunID: "decided", Resolutions: allow("a"), Actor: person})
		h.do(&runs.Release{RunID: "released", Fence: 1})
		h.clock.Advance(api.DefaultLeaseMs + 5_000)
		h.do(commandOf(h.claimEffect("s-released", model.EffectID(api.EffectCancelAbandoned, handles["released"]))))
		watching, err := h.store.Watched(h.ctx, []string{handles["over"], handles["decided"], handles["released"], handles["watched"], h.run("held").Requests[0].Handle})
		require.NoError(h, err)
		require.Len(h, watching, 1)
		one := watching[handles["watched"]]
		require.Equal(h, h.run("watched").Run.LeaseExpiresAtMs, one.LeaseExpiresAtMs)
		silentMs, _ := runs.Silence(one.Payload)
		require.EqualValues(h, 5_000, silentMs)
		none, err := h.store.Holdings(h.ctx, nil)
		require.NoError(h, err)
		require.Empty(h, none)
	},
	"suspend/withdraw": func(h *harness) {
		fence := h.started("s", "r")
		held := approvals("a", "b")
		held.Hold = true
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: held})
		h.do(&runs.Withdraw{RunID: "r", RequestID: "a", Fence: fence})
		h.refuse(api.CodeRequestNotFound, &runs.Withdraw{RunID: "r", RequestID: "nothing", Fence: fence})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("b"), Actor: person})
		refused := h.refuse(api.CodeApprovalStateConflict, &runs.Withdraw{RunID: "r", RequestID: "b", Fence: fence})
		require.Equal(h, api.OutcomeAllowed, refused.Recorded.Outcome)
	},
}
