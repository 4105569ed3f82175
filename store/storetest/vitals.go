package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

var vitalsTests = map[string]func(*harness){
	"vitals/open requests, by kind and age": func(h *harness) {
		vitals := func(limit int) *model.Vitals {
			found, err := h.store.Vitals(h.ctx, limit)
			require.NoError(h, err)
			require.Equal(h, h.clock.NowMs(), found.NowMs)
			return found
		}
		require.Equal(h, &model.Vitals{NowMs: clockStart}, vitals(100))

		h.wait("s-0", "r-0", api.Suspension{Approvals: []api.ApprovalRequest{approvalDueAt("a", clockStart+3_000_000), approvalDueAt("b", clockStart+4_000_000)}})
		h.clock.Advance(3_600_000)
		h.wait("s-1", "r-1", approvals("c"))
		h.do(&runs.ResolveApprovals{RunID: "r-1", Resolutions: allow("c"), Actor: person})
		h.wait("s-2", "r-2", api.Suspension{Questions: []api.UserQuestionRequest{questionDueAt("q", clockStart+9_000_000)}})
		h.clock.Advance(59_999)

		now := h.clock.NowMs()
		found := vitals(100)
		require.ElementsMatch(h, []model.WaitTally{
			{Kind: model.KindApproval, Age: model.WaitUnderDay, Tally: model.Tally{Count: 2, OldestMs: clockStart}},
			{Kind: model.KindQuestion, Age: model.WaitUnderMinute, Tally: model.Tally{Count: 1, OldestMs: clockStart + 3_600_000}},
		}, found.Waits)
		require.Equal(h, model.Tally{Count: 1, OldestMs: clockStart + 3_600_000}, found.Claimable, "the run that was decided")
		require.Equal(h, model.Tally{Count: 1, OldestMs: clockStart + 3_000_000}, found.Overdue, "nobody has swept")
		require.Zero(h, found.Rules)
		require.Empty(h, found.Effects)
		require.Zero(h, found.DeadLetters)

		h.do(&runs.AddRule{SessionID: "s-0", RuleID: "until", ToolName: "bash", Match: anyInput, ExpiresAtMs: new(now + 1_000), Actor: person})
		h.addRule("s-0", "revoked", anyInput)
		h.do(&runs.RevokeRule{SessionID: "s-0", RuleID: "revoked", Actor: person})
		require.Equal(h, model.Tally{Count: 1, OldestMs: now}, vitals(100).Rules)
		h.clock.Advance(1_000)
		require.Zero(h, vitals(100).Rules, "an expired rule is not in force")

		// A limit bounds the counts.
		bounded := vitals(1)
		require.Len(h, bounded.Waits, 1)
		require.Equal(h, int64(1), bounded.Waits[0].Count)
	},
	"vitals/pending effects and dead letters": func(h *harness) {
		id := h.askers("asker")[0]
		h.clock.Advance(5)
		owed := func() *model.Vitals {
			found, err := h.store.Vitals(h.ctx, 10)
			require.NoError(h, err)
			return found
		}
		one := model.Tally{Count: 1, OldestMs: clockStart}
		require.Equal(h, []model.EffectTally{{Kind: api.EffectOpenClarification, State: api.EffectPending, Tally: one}}, owed().Effects)
		effect := h.claimEffect("session-of-asker", id)
		h.do(commandOf(effect))
		h.do(&runs.FinishEffect{SessionID: "session-of-asker", EffectID: id, Attempt: effect.Attempts})
		require.Empty(h, owed().Effects, "a finished effect is no longer pending")
	},
	"vitals/messages that nobody took": func(h *harness) {
		owed := func() *model.Vitals {
			found, err := h.store.Vitals(h.ctx, 10)
			require.NoError(h, err)
			return found
		}
		h.child("r")
		h.deliver("child", "r", "q")
		require.Zero(h, owed().DeadLetters)
		delivered := h.clock.NowMs()
		for range model.MaxDeliveryAttempts {
			h.mailbox("child")
			h.clock.Advance(model.MessageLeaseMs)
		}
		h.mailbox("child")
		require.Equal(h, model.Tally{Count: 1, OldestMs: delivered}, owed().DeadLetters)
	},
}
