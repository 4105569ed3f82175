package runs_test

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkClarification: a clarification waits with its one question until it completes,
// and nobody ever holds it. Other runs have no requester.
func (h *house) checkClarification(run *model.Run, after *runs.State) {
	h.t.Helper()
	if run.Kind != api.KindParentClarification {
		require.Nil(h.t, run.Requester)
		return
	}
	require.Contains(h.t, []api.Status{api.StatusWaitingForUserQuestion, api.StatusCompleted}, run.Status)
	require.NotEmpty(h.t, run.RequesterOf().RequesterRunID)
	require.Zero(h.t, run.Fence)
	require.Zero(h.t, run.Attempt)
	require.Empty(h.t, run.WorkerID)
	require.Equal(h.t, int64(1), run.RaisedCount)
	require.NotEqual(h.t, run.RunID, after.Session.ActiveRunID, "a clarification has taken the slot")
	owed := after.Effects["deliver_answer:"+run.RunID]
	if run.Status != api.StatusCompleted {
		require.Nil(h.t, owed)
		return
	}
	require.Equal(h.t, int64(1), run.SettledCount)
	require.Equal(h.t, int64(1), run.OutputCount)
	require.NotNil(h.t, owed, "nobody brings the child its answer")
	require.Equal(h.t, run.RequesterOf().RequesterSessionID, owed.TargetSessionID)
}

// checkEffects: what is owed is written with the decision, stays to the last member
// but for how far it is, and is owed exactly while it is pending.
func (h *house) checkEffects(before, after *runs.State) {
	h.t.Helper()
	for effectID, was := range before.Effects {
		is := after.Effects[effectID]
		require.NotNil(h.t, is, "effect %s is gone", effectID)
		require.GreaterOrEqual(h.t, is.Attempts, was.Attempts)
		if was.State == api.EffectDone {
			requireSame(h.t, was, is, "an effect that was done has changed")
		}
		same := *is
		same.State, same.DueAtMs, same.Attempts, same.LastError, same.FinishedAtMs = was.State, was.DueAtMs, was.Attempts, was.LastError, was.FinishedAtMs
		requireSame(h.t, was, &same, "an effect was rewritten")
	}
	for effectID, effect := range after.Effects {
		require.Equal(h.t, after.SessionID, effect.SessionID)
		require.NotNil(h.t, after.Runs[effect.RunID], "effect %s is of nobody's decision", effectID)
		require.Equal(h.t, effect.State == api.EffectPending, effect.DueAtMs != 0, "due_at_ms of %s", effectID)
		require.Equal(h.t, effect.State != api.EffectPending, effect.FinishedAtMs != 0, "finished_at_ms of %s", effectID)
		require.False(h.t, effect.State == api.EffectDone && effect.LastError != "", "%s is done and tells of an error", effectID)
		require.False(h.t, effect.State == api.EffectFailed && effect.LastError == "", "%s was given up and does not say why", effectID)
	}
	for key, request := range after.Requests {
		if request.Kind != model.KindClarification {
			continue
		}
		on := request.Clarification().WaitingOn
		require.Equal(h.t, key.RequestID, on.RequestID)
		require.Equal(h.t, after.Session.ParentSessionID, on.SessionID)
		require.Zero(h.t, request.DueAtMs, "nothing expires in the child's session")
		effect := after.Effects["open_clarification:"+on.RunID]
		require.NotNil(h.t, effect, "nobody asks the parent")
		require.Equal(h.t, on.SessionID, effect.TargetSessionID)
	}
}

// checkMessages: a message is delivered once, together with what it settles, and
// stays as it is but for where it is.
func (h *house) checkMessages(before, after *runs.State) {
	h.t.Helper()
	for messageID, was := range before.Messages {
		is := after.Messages[messageID]
		require.NotNil(h.t, is, "message %s is gone", messageID)
		if was.State == api.MessageAcknowledged {
			requireSame(h.t, was, is, "an acknowledged message has changed")
		}
		same := *is
		same.State, same.DeliveryAttempts, same.LeaseExpiresAtMs = was.State, was.DeliveryAttempts, was.LeaseExpiresAtMs
		same.LastError, same.AcknowledgedAtMs = was.LastError, was.AcknowledgedAtMs
		requireSame(h.t, was, &same, "a message was rewritten")
	}
	for messageID, message := range after.Messages {
		require.Equal(h.t, after.SessionID, message.SessionID)
		require.NotNil(h.t, after.Runs[message.RunID])
		require.Equal(h.t, message.State == api.MessageAcknowledged, message.AcknowledgedAtMs != 0)
		require.True(h.t, message.State == api.MessagePending || message.LeaseExpiresAtMs == 0, "a lease of a message that nobody may read")
		require.LessOrEqual(h.t, message.DeliveryAttempts, int64(model.MaxDeliveryAttempts))
		require.False(h.t, message.State == api.MessageDeadLetter && message.LastError == "")
		require.False(h.t, message.State == api.MessagePending && message.LastError != "")
		requestID := messageID[len(model.MessageIDOf("")):]
		request := after.Requests[runs.RequestKey{RunID: message.RunID, RequestID: requestID}]
		require.NotNil(h.t, request)
		require.False(h.t, request.Open(), "%s is there and its question still open", messageID)
	}
}
