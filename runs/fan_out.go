package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// FanOutDeliveries writes the first FanOutChunk deliveries of a fan-out effect ([model.IsFanOut])
// and completes it. A new effect covers the rest. It sorts behind the deliveries and is due after
// them, so a webhook's backlog grows no faster than the webhook accepts deliveries. An invalid
// payload fails the effect permanently.
//
// Reply: Effect; or only Existing when it is not due or not pending. Errors: effect_not_found.
type FanOutDeliveries struct {
	SessionID string
	EffectID  string
}

// Spec implements Command.
func (c *FanOutDeliveries) Spec() Spec {
	return Spec{Name: "FanOutDeliveries", size: oneRow}
}

// Needs implements Command.
func (c *FanOutDeliveries) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID}
}

func (c *FanOutDeliveries) prepare(*Call, IDSource) error { return nil }

func (c *FanOutDeliveries) decide(w *workingCopy) (Reply, error) {
	effect, err := w.attemptEffect(c.EffectID)
	if err != nil || effect == nil {
		return Reply{Existing: err == nil}, err
	}
	owed, err := model.OwedBy(effect)
	if err != nil {
		w.endEffect(effect, api.EffectFailed, err.Error())
		return Reply{Effect: effect}, nil
	}
	w.endEffect(effect, api.EffectDone, "")
	now, later := splitOwed(owed, FanOutChunk)
	w.enqueueOwed(effect.WebhookID, now, true)
	if len(later) > 0 {
		w.enqueueOwed(effect.WebhookID, later, false)
	}
	return Reply{Effect: effect}, nil
}

// splitOwed returns the first events, at most limit, and the remaining ones.
func splitOwed(owed []model.OwedEvents, limit int64) (first, rest []model.OwedEvents) {
	for i, run := range owed {
		for j, span := range run.Spans {
			if room := limit; span[1]-span[0]+1 > room {
				head, tail := model.OwedEvents{RunID: run.RunID, Spans: append([][2]int64{}, run.Spans[:j]...)}, model.OwedEvents{RunID: run.RunID}
				if room > 0 {
					head.Spans = append(head.Spans, [2]int64{span[0], span[0] + room - 1})
				}
				tail.Spans = append([][2]int64{{span[0] + room, span[1]}}, run.Spans[j+1:]...)
				if first = append(first, owed[:i]...); len(head.Spans) > 0 {
					first = append(first, head)
				}
				return first, append([]model.OwedEvents{tail}, owed[i+1:]...)
			}
			limit -= span[1] - span[0] + 1
		}
	}
	return owed, nil
}
