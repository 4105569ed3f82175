package runs

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Recipient is a person to notify of a request, and the channel.
type Recipient struct {
	Principal string
	Channel   string
}

// PersonNotice is the payload of an api.EffectNotify. It has no address, because the person's address
// at the time of sending is used.
type PersonNotice struct {
	RequestHandle string `json:"request_handle"`
	RequestID     string `json:"request_id"`
	Principal     string `json:"principal"`
	Channel       string `json:"channel"`
	Step          int64  `json:"step"`
}

// NoticeOf returns the payload of an effect of kind api.EffectNotify. An error means that the row was
// changed outside of the service.
func NoticeOf(e *model.Effect) (*PersonNotice, error) {
	var notice PersonNotice
	if err := readPayload(e, e.Payload, &notice); err != nil {
		return nil, err
	}
	if notice.Principal == "" || notice.Channel == "" {
		return nil, errors.New("the message has no person or no channel")
	}
	return &notice, checkPayloadIDs(e, notice.RequestHandle, notice.RequestID)
}

// notify enqueues a message to each recipient, and writes the event that lists them.
func (w *workingCopy) notify(run *model.Run, request *model.Request, step int64, to []Recipient) {
	told := make([]notifiedPerson, 0, len(to))
	for _, recipient := range to {
		w.enqueueEffect(&model.Effect{
			SessionID: request.SessionID, EffectID: model.NoticeEffectID(recipient.Channel, request.Handle, recipient.Principal, step),
			RunID: request.RunID, Kind: api.EffectNotify, TargetSessionID: request.SessionID, WebhookID: model.NoticeWebhookID(recipient.Channel),
			Payload: document.Encode(PersonNotice{
				RequestHandle: request.Handle, RequestID: request.RequestID, Principal: recipient.Principal, Channel: recipient.Channel, Step: step,
			}),
		})
		told = append(told, notifiedPerson{Who: recipient.Principal, Channels: []string{recipient.Channel}})
	}
	w.emit(run, api.EventRequestNotified, requestNotifiedEvent{api.EventRequestNotified, request.RequestID, step, told})
	w.saveRun(run)
}

// noteUndelivered writes the event that the service gave up on a message. A finished run gets no more events.
func (w *workingCopy) noteUndelivered(effect *model.Effect) {
	run := w.run(effect.RunID)
	notice, err := NoticeOf(effect)
	if err != nil || run == nil || model.Terminal(run.Status) {
		return
	}
	w.emit(run, api.EventNotificationFailed, notificationFailedEvent{api.EventNotificationFailed, notice.RequestID, notice.Principal, notice.Channel})
	w.saveRun(run)
}
