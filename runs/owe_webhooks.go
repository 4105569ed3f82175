package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// deliverWebhookPayload is the payload of an api.EffectDeliverWebhook. What is posted is made from
// the event, which does not change.
type deliverWebhookPayload struct {
	EventID int64 `json:"event_id"`
}

// oweWebhooks writes what the webhooks are owed that want an event.
func (w *workingCopy) oweWebhooks(event *model.Event) {
	w.state.Webhooks.Owed(event.SessionID, event.AgentID, event.Type, func(webhookID string) {
		w.changes.NewEffects = append(w.changes.NewEffects, &model.Effect{
			SessionID: event.SessionID, EffectID: model.WebhookEffectID(webhookID, event.SessionID, event.EventID),
			RunID: event.RunID, Kind: api.EffectDeliverWebhook, State: api.EffectPending, TargetSessionID: event.SessionID,
			WebhookID: webhookID, Payload: document.Encode(deliverWebhookPayload{event.EventID}),
			CreatedAtMs: w.nowMs, DueAtMs: w.nowMs,
		})
	})
}
