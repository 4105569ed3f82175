package runs

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// owedBy returns the events that an effect delivers.
func owedBy(e *model.Effect) ([]owedEvents, error) {
	var payload deliverWebhookPayload
	if err := readPayload(e, e.Payload, &payload); err != nil {
		return nil, err
	}
	wrong := fmt.Errorf("the payload of the effect is not that of kind %q: its events are not in order", e.Kind)
	last, count := int64(0), 0
	for _, run := range payload.Runs {
		if err := checkPayloadIDs(e, run.RunID); err != nil {
			return nil, err
		}
		if len(run.Spans) == 0 {
			return nil, wrong
		}
		for _, span := range run.Spans {
			if span[0] <= last || span[1] < span[0] {
				return nil, wrong
			}
			last = span[1]
			count++
		}
	}
	if count == 0 {
		return nil, wrong
	}
	return payload.Runs, nil
}

// WebhookEvent returns the id of the event that an api.EffectDeliverWebhook delivers. An error
// means that the row was changed outside of the service.
func WebhookEvent(e *model.Effect) (int64, error) {
	var payload deliverWebhookPayload
	if err := readPayload(e, e.Payload, &payload); err != nil {
		return 0, err
	}
	if payload.EventID < 1 {
		return 0, fmt.Errorf("the payload of the effect is not that of kind %q: there is no event", e.Kind)
	}
	return payload.EventID, nil
}

// callbackPayload is the payload of an effect that posts a settled request to its callback.
type callbackPayload struct {
	Handle string `json:"handle"`
}

// CallbackOf returns the handle of the request whose callback an effect posts to. An error means that
// the row was changed outside of the service.
func CallbackOf(e *model.Effect) (handle string, err error) {
	var payload callbackPayload
	if err := readPayload(e, e.Payload, &payload); err != nil {
		return "", err
	}
	return payload.Handle, checkPayloadIDs(e, payload.Handle)
}

func readPayload(e *model.Effect, text api.JSON, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the payload of the effect is not that of kind %q: %w", e.Kind, err)
	}
	return nil
}

func checkPayloadIDs(e *model.Effect, ids ...string) error {
	for _, id := range ids {
		if !refusal.ValidID(id) {
			return fmt.Errorf("the payload of the effect is not that of kind %q: an id is missing or malformed", e.Kind)
		}
	}
	return nil
}
