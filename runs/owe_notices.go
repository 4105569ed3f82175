package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// advancePayload is the payload of an api.EffectAdvanceRequest.
type advancePayload struct {
	// RequestHandle is part of the effect's id.
	RequestHandle string `json:"request_handle"`
	RequestID     string `json:"request_id"`
}

// enqueueAdvances writes an effect for each request that the decision raised and left open. When the
// effect is due, people are notified of the request. A request with an escalation is notified by its
// steps even if nobody can be notified yet.
func (w *workingCopy) enqueueAdvances() {
	for _, request := range w.changes.NewRequests {
		if !request.Open() || request.Kind == model.KindClarification {
			continue
		}
		after := w.state.NotifyAfterMs
		switch {
		case request.EscalationState != nil:
			state := request.Progress()
			if state.NextAtMs == 0 {
				continue
			}
			after = max(state.NextAtMs-w.nowMs, 0)
		case after == 0:
			continue
		case request.DueAtMs != 0:
			// A message after the deadline would be useless.
			after = max(min(after, (request.DueAtMs-w.nowMs)/2), 0)
		}
		w.changes.NewEffects = append(w.changes.NewEffects, &model.Effect{
			State: api.EffectPending, CreatedAtMs: w.nowMs, SessionID: request.SessionID, EffectID: model.EffectID(api.EffectAdvanceRequest, request.Handle), RunID: request.RunID,
			Kind: api.EffectAdvanceRequest, TargetSessionID: request.SessionID, DueAtMs: w.nowMs + after,
			Payload: document.Encode(advancePayload{RequestHandle: request.Handle, RequestID: request.RequestID}),
		})
	}
}
