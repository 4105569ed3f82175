package model

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// WebhookPayload is the payload of an api.EffectDeliverWebhook. The posted body is built from
// the event, which does not change.
type WebhookPayload struct {
	EventID int64 `json:"event_id,omitzero"`
	// Runs replaces EventID for a decision with too many events for one row each under the lock. It
	// has the events of the decision, in order.
	Runs []OwedEvents `json:"runs,omitempty"`
}

// OwedEvents are events of one run.
type OwedEvents struct {
	RunID string `json:"run_id"`
	// Spans are ranges of consecutive events: the first and the last event of each.
	Spans [][2]int64 `json:"spans"`
}

// OwedBy returns the events that an effect delivers.
func OwedBy(e *Effect) ([]OwedEvents, error) {
	var payload WebhookPayload
	if err := ReadPayload(e, e.Payload, &payload); err != nil {
		return nil, err
	}
	wrong := fmt.Errorf("the payload of the effect is not that of kind %q: its events are not in order", e.Kind)
	last, count := int64(0), 0
	for _, run := range payload.Runs {
		if err := CheckPayloadIDs(e, run.RunID); err != nil {
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
func WebhookEvent(e *Effect) (int64, error) {
	var payload WebhookPayload
	if err := ReadPayload(e, e.Payload, &payload); err != nil {
		return 0, err
	}
	if payload.EventID < 1 {
		return 0, fmt.Errorf("the payload of the effect is not that of kind %q: there is no event", e.Kind)
	}
	return payload.EventID, nil
}

// CallbackPayload is the payload of an effect that posts a settled request to its callback.
type CallbackPayload struct {
	// Handle is the request's.
	Handle string `json:"handle"`
}

// CallbackOf returns the handle of the request whose callback an effect posts to. An error means that
// the row was changed outside of the service.
func CallbackOf(e *Effect) (handle string, err error) {
	var payload CallbackPayload
	if err := ReadPayload(e, e.Payload, &payload); err != nil {
		return "", err
	}
	return payload.Handle, CheckPayloadIDs(e, payload.Handle)
}

// ReadPayload decodes the payload of an effect, or a part of it. An error means that the row was changed
// outside of the service.
func ReadPayload(e *Effect, text api.JSON, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the payload of the effect is not that of kind %q: %w", e.Kind, err)
	}
	return nil
}

// CheckPayloadIDs returns an error if one of the ids in the payload of an effect is malformed.
func CheckPayloadIDs(e *Effect, ids ...string) error {
	for _, id := range ids {
		if !refusal.ValidID(id) {
			return fmt.Errorf("the payload of the effect is not that of kind %q: an id is missing or malformed", e.Kind)
		}
	}
	return nil
}

// PersonNotice is the payload of an api.EffectNotify: a message to a person, or the withdrawal of all
// messages about a settled request. It has no address, because the person's address at the time of sending
// is used.
type PersonNotice struct {
	RequestHandle string `json:"request_handle"`
	RequestID     string `json:"request_id"`
	Principal     string `json:"principal,omitempty"`
	Channel       string `json:"channel"`
	// Step distinguishes the messages about a request to a person: the round of its escalation, 0
	// without one.
	Step int64 `json:"step"`
	// OfStep is the step of the escalation, and Urgent its member.
	OfStep int64 `json:"of_step,omitzero"`
	Urgent bool  `json:"urgent,omitzero"`
	// Turn counts the addresses that the message was given up at before this one. Tried has their ids; Later has those
	// that failed only a few times, which come again after all others.
	Turn  int64    `json:"turn,omitzero"`
	Tried []string `json:"tried,omitempty"`
	Later []string `json:"later,omitempty"`
	// InPlaceOf is the effect of the message at the address before, and Failure why it was given up.
	InPlaceOf string `json:"in_place_of,omitempty"`
	Failure   string `json:"failure,omitempty"`
	// Withdraws says that the messages of the channel about the request are withdrawn. It has no person.
	Withdraws bool `json:"withdraws,omitzero"`
}

// HeldAtInbox is the LastError of a message that waits while its person is looking at their inbox.
const HeldAtInbox = "held back: the person is looking at their inbox"

// HeldByFlood is the LastError of a message that waits because its person got many messages.
const HeldByFlood = "held back: the person got many messages in the last minutes"

// HeldByViewer is the LastError of the effect that notifies people of a request, while somebody is looking at that.
const HeldByViewer = "held back: somebody is looking at the request"

// HeldBack reports whether a message waits for one of these reasons, and has not failed.
func HeldBack(lastError string) bool { return lastError == HeldAtInbox || lastError == HeldByFlood }

// NoticeOf returns the payload of an effect of kind api.EffectNotify. An error means that the row was
// changed outside of the service.
func NoticeOf(e *Effect) (*PersonNotice, error) {
	var notice PersonNotice
	if err := ReadPayload(e, e.Payload, &notice); err != nil {
		return nil, err
	}
	if (notice.Principal == "") != notice.Withdraws || notice.Channel == "" {
		return nil, errors.New("the message has no person or no channel")
	}
	return &notice, CheckPayloadIDs(e, notice.RequestHandle, notice.RequestID)
}
