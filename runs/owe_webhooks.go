package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// owedTo are the events of a decision that one webhook subscribes to. It is unused while count is 0.
type owedTo struct {
	webhookID string
	count     int
	runs      []model.OwedEvents
}

// oweWebhooks notes which webhooks subscribe to an event; see enqueueDeliveries.
func (w *workingCopy) oweWebhooks(event *model.Event) {
	w.state.Webhooks.Owed(event.SessionID, event.AgentID, event.Type, func(at int, webhookID string) {
		if w.owed == nil {
			w.owed = make([]owedTo, w.state.Webhooks.Len())
		}
		w.owed[at].webhookID = webhookID
		w.owed[at].add(event.RunID, event.EventID)
	})
}

func (o *owedTo) add(runID string, eventID int64) {
	o.count++
	if last := len(o.runs) - 1; last >= 0 && o.runs[last].RunID == runID {
		run := &o.runs[last]
		if newest := &run.Spans[len(run.Spans)-1]; newest[1] == eventID-1 {
			newest[1] = eventID
			return
		}
		run.Spans = append(run.Spans, [2]int64{eventID, eventID})
		return
	}
	o.runs = append(o.runs, model.OwedEvents{RunID: runID, Spans: [][2]int64{{eventID, eventID}}})
}

// enqueueDeliveries writes the decision's webhook deliveries, at most MaxOwedRows per webhook.
func (w *workingCopy) enqueueDeliveries() {
	for i := range w.owed {
		if w.owed[i].count == 0 {
			continue
		}
		w.enqueueOwed(w.owed[i].webhookID, w.owed[i].runs, w.owed[i].count <= MaxOwedRows)
	}
	w.owed = nil
}

// enqueueOwed writes one delivery per event, or one effect for all of them.
func (w *workingCopy) enqueueOwed(webhookID string, owed []model.OwedEvents, each bool) {
	effect := func(effectID, runID string, payload model.WebhookPayload) {
		w.enqueueEffect(&model.Effect{
			SessionID: w.state.SessionID, EffectID: effectID, RunID: runID, Kind: api.EffectDeliverWebhook,
			TargetSessionID: w.state.SessionID, WebhookID: webhookID, Payload: document.Encode(payload),
		})
	}
	if !each {
		// Retention keeps a run with a pending effect, and all later events of the session.
		effect(model.FanOutEffectID(webhookID, w.state.SessionID, owed[0].Spans[0][0]), owed[0].RunID, model.WebhookPayload{Runs: owed})
		return
	}
	for _, run := range owed {
		for _, span := range run.Spans {
			for eventID := span[0]; eventID <= span[1]; eventID++ {
				effect(model.WebhookEffectID(webhookID, w.state.SessionID, eventID), run.RunID, model.WebhookPayload{EventID: eventID})
			}
		}
	}
}
