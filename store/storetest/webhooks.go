package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/webhooks"
)

// webhookTests are about the webhook deliveries of decisions. They need a store with webhooks.
var webhookTests = map[string]func(*harness){
	"webhooks/the largest call writes a few rows for the most webhooks": func(h *harness) {
		for n := range api.MaxWebhooks {
			h.webhook(fmt.Sprintf("webhook_%02d", n), loudWebhook)
		}
		h.create("loud", "r")
		given := &runs.AppendEvents{RunID: "r", Fence: h.claim("r"), Events: slices.Repeat(aProgress, api.MaxEventsPerCall)}
		began := time.Now()
		h.do(given)
		h.Logf("%d events for %d webhooks: %v, %d rows", api.MaxEventsPerCall, api.MaxWebhooks, time.Since(began), h.owed())
		require.LessOrEqual(h, h.owed(), api.MaxWebhooks*runs.MaxOwedRows)
		due := h.dueOf("webhook_07")
		require.Len(h, due, 1)
		began = time.Now()
		h.do(&runs.FanOutDeliveries{SessionID: "loud", EffectID: due[0].EffectID})
		h.Logf("%d of them made for one webhook: %v", runs.FanOutChunk, time.Since(began))
		require.LessOrEqual(h, h.owed(), api.MaxWebhooks*runs.MaxOwedRows+runs.FanOutChunk)
	},
	"webhooks/many events of a decision are delivered in their order, before later ones": func(h *harness) {
		h.webhook("webhook_a", loudWebhook)
		h.webhook("webhook_b", loudWebhook)
		h.create("loud", "r")
		fence, many := h.claim("r"), runs.FanOutChunk+runs.MaxOwedRows+1
		last := h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: slices.Repeat(aProgress, many)}).LastEventID
		h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: aProgress})
		h.do(&runs.AppendEvents{RunID: "r", Fence: fence, Events: slices.Repeat(aProgress, runs.MaxOwedRows)})
		require.Equal(h, 2*(2+runs.MaxOwedRows), h.owed(), "a few are owed as they are")

		var delivered []int64
		for due := h.dueOf("webhook_a"); len(due) > 0; due = h.dueOf("webhook_a") {
			require.Len(h, due, 1, "one of a session at a time")
			if id := due[0].EffectID; model.IsFanOut(id) {
				before := h.owed()
				require.NotNil(h, h.do(&runs.FanOutDeliveries{SessionID: "loud", EffectID: id}).Effect)
				require.LessOrEqual(h, h.owed()-before, runs.FanOutChunk)
				require.True(h, h.do(&runs.FanOutDeliveries{SessionID: "loud", EffectID: id}).Existing, "once")
				require.True(h, h.do(&runs.RetryEffect{SessionID: "loud", EffectID: id}).Existing, "even if it is replayed")
				continue
			}
			effect := h.claimEffect("loud", due[0].EffectID)
			eventID, err := model.WebhookEvent(effect)
			require.NoError(h, err)
			require.Equal(h, "r", effect.RunID)
			delivered = append(delivered, eventID)
			h.do(&runs.FinishEffect{SessionID: "loud", EffectID: effect.EffectID, Attempt: effect.Attempts})
		}
		var wanted []int64
		for eventID := last - int64(many) + 1; eventID <= last+1+runs.MaxOwedRows; eventID++ {
			wanted = append(wanted, eventID)
		}
		require.Equal(h, wanted, delivered)
		require.Len(h, h.dueOf("webhook_b"), 1, "other webhooks keep their deliveries")
	},
}

var (
	aProgress   = []api.JSON{api.JSON(`{"type":"progress"}`)}
	loudWebhook = webhooks.Settings{URL: "https://example.com", Kinds: []api.WebhookKind{api.WebhookWorker}}
)

// owed returns the number of pending effects.
func (h *harness) owed() int {
	h.Helper()
	count, err := h.store.CountEffects(h.ctx, reads.EffectQuery{State: api.EffectPending})
	require.NoError(h, err)
	return int(count)
}

// dueOf returns the due deliveries of a webhook.
func (h *harness) dueOf(webhookID string) []reads.DueEffect {
	h.Helper()
	store, keeps := h.store.(webhookStore)
	require.True(h, keeps)
	due, err := store.DueDeliveries(h.ctx, webhookID, 10)
	require.NoError(h, err)
	return due
}
