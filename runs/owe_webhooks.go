package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// MaxOwedRows bounds the rows that a decision writes for one webhook: the deliveries of so many
// events, or one effect from which [FanOutDeliveries] makes the deliveries after the commit.
const MaxOwedRows = 4

// deliverWebhookPayload is the payload of an api.EffectDeliverWebhook. What is posted is made from
// the event, which does not change.
type deliverWebhookPayload struct {
	EventID int64 `json:"event_id,omitzero"`
	// Runs are the events of one decision in their order, instead of EventID: too many for a row
	// each under the lock.
	Runs []owedEvents `json:"runs,omitempty"`
}

// owedEvents are events of one run.
type owedEvents struct {
	RunID string `json:"run_id"`
	// Spans are the first and the last of events that follow one another.
	Spans [][2]int64 `json:"spans"`
}

// owedTo are the events of a decision that one webhook wants, none while count is 0.
type owedTo struct {
	webhookID string
	count     int
	runs      []owedEvents
}

// oweWebhooks notes which webhooks want an event; see enqueueDeliveries.
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
	o.runs = append(o.runs, owedEvents{runID, [][2]int64{{eventID, eventID}}})
}

// enqueueDeliveries writes what the decision owes to webhooks: at most MaxOwedRows for each.
func (w *workingCopy) enqueueDeliveries() {
	for i := range w.owed {
		if w.owed[i].count == 0 {
			continue
		}
		w.enqueueOwed(w.owed[i].webhookID, w.owed[i].runs, w.owed[i].count <= MaxOwedRows)
	}
	w.owed = nil
}

// enqueueOwed writes a delivery for each event, or one effect for all of them.
func (w *workingCopy) enqueueOwed(webhookID string, owed []owedEvents, each bool) {
	effect := func(effectID, runID string, payload deliverWebhookPayload) {
		w.changes.NewEffects = append(w.changes.NewEffects, &model.Effect{
			SessionID: w.state.SessionID, EffectID: effectID, RunID: runID, Kind: api.EffectDeliverWebhook, State: api.EffectPending,
			TargetSessionID: w.state.SessionID, WebhookID: webhookID, Payload: document.Encode(payload),
			CreatedAtMs: w.nowMs, DueAtMs: w.nowMs,
		})
	}
	if !each {
		// It keeps the run of the first event, and so all events after that.
		effect(model.FanOutEffectID(webhookID, w.state.SessionID, owed[0].Spans[0][0]), owed[0].RunID, deliverWebhookPayload{Runs: owed})
		return
	}
	for _, run := range owed {
		for _, span := range run.Spans {
			for eventID := span[0]; eventID <= span[1]; eventID++ {
				effect(model.WebhookEffectID(webhookID, w.state.SessionID, eventID), run.RunID, deliverWebhookPayload{EventID: eventID})
			}
		}
	}
}
