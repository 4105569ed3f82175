package runs_test

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkEffects: only an effect's state and attempts change, and only until it is done. Only the attempt
// that put it off does not count, and none of one that ends without its work.
func (h *house) checkEffects(command runs.Command, before, after *runs.State) {
	h.t.Helper()
	for effectID, was := range before.Effects {
		is := after.Effects[effectID]
		require.NotNil(h.t, is, "effect %s is gone", effectID)
		if !uncounts(command, is) {
			require.GreaterOrEqual(h.t, is.Attempts, was.Attempts)
		}
		if was.State == api.EffectDone {
			requireSame(h.t, was, is, "an effect that was done has changed")
		}
		same := *is
		same.State, same.DueAtMs, same.Attempts, same.LastError, same.FinishedAtMs = was.State, was.DueAtMs, was.Attempts, was.LastError, was.FinishedAtMs
		requireSame(h.t, was, &same, "an effect was rewritten")
	}
	for _, effect := range after.Effects {
		require.Equal(h.t, after.SessionID, effect.SessionID)
	}
}

func uncounts(command runs.Command, effect *model.Effect) bool {
	switch c := runs.Unwrap(command).(type) {
	case *runs.AdvanceRequest:
		return effect.Attempts == c.Attempt-1 || effect.Attempts == 0
	case *runs.FinishEffect:
		return c.PutOffMs > 0 && effect.Attempts == c.Attempt-1 || effect.State == api.EffectDone && effect.Attempts == 0 && (c.Unsent || c.Error != "")
	}
	return false
}

// checkMessages: only a message's state and deliveries change, and only until it is acknowledged.
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
	for _, message := range after.Messages {
		require.Equal(h.t, after.SessionID, message.SessionID)
	}
}
