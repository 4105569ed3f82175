package runs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Recipient is a person to notify of a request, and the channel.
type Recipient struct {
	Principal string
	// Channel is empty if the person gets no message.
	Channel string
	// WhyNot says why the person gets no message, or not now; empty otherwise.
	WhyNot string
	// Withdraws says that the channel withdraws its messages once the request is settled.
	Withdraws bool
}

// DueStep is a step of an escalation that notifies people now.
type DueStep struct {
	// Step is its index.
	Step int64
	// To has at most api.MaxRecipients entries. One with WhyNobody is a selector, and is not in the step's event.
	To []Recipient
}

// PutOffError says that a message is held back for a while. It is not a failure.
type PutOffError struct {
	Ms int64
	// Why is the LastError of the message meanwhile, unless an attempt to send it has failed.
	Why string
}

func (e *PutOffError) Error() string { return "the message is held back" }

// ErrNotSent says that the person got no message of its own, and needs none any more. It is not a failure.
var ErrNotSent = errors.New("no message of its own was sent")

// ErrSentForOthers is an ErrNotSent of a message that was sent, but says how many requests are open.
var ErrSentForOthers = fmt.Errorf("%w: it counts others", ErrNotSent)

// RetryAfterError is a failure after which the receiver asked for a pause.
type RetryAfterError struct{ Ms int64 }

func (e *RetryAfterError) Error() string { return "the receiver asks for a pause" }

// NextAddress is where a message goes that was given up at another address of the same person.
type NextAddress struct {
	To Recipient
	// Tried and Later become the members of the message's PersonNotice.
	Tried, Later []string
	// ForOthers says that the message counts other requests, which have none of their own. It is sent even if its own
	// request is settled.
	ForOthers bool
}

// notify enqueues a message to each recipient of a request without steps, and writes the event that lists them.
func (w *workingCopy) notify(run *model.Run, request *model.Request, to []Recipient) {
	told := make([]notifiedPerson, 0, len(to))
	var state model.EscalationState
	for _, recipient := range to {
		w.enqueueNotice(request, recipient, model.PersonNotice{})
		state.Tell(recipient.Principal)
		if recipient.Withdraws {
			state.WithdrawFrom(recipient.Channel)
		}
		told = append(told, notifiedPerson{Who: recipient.Principal, Channels: []string{recipient.Channel}})
	}
	if len(to) > 0 {
		w.editRequest(request).EscalationState = document.Encode(state)
	}
	w.emit(run, api.EventRequestNotified, requestNotifiedEvent{api.EventRequestNotified, request.RequestID, 0, told})
	w.saveRun(run)
}

// enqueueNotice enqueues a message to a person about a request.
func (w *workingCopy) enqueueNotice(request *model.Request, to Recipient, notice model.PersonNotice) {
	notice.RequestHandle, notice.RequestID, notice.Principal, notice.Channel = request.Handle, request.RequestID, to.Principal, to.Channel
	w.enqueueMessage(request.SessionID, request.RunID, &notice)
}

func (w *workingCopy) enqueueMessage(sessionID, runID string, notice *model.PersonNotice) {
	w.enqueueEffect(&model.Effect{
		SessionID: sessionID, EffectID: model.NextNoticeEffectID(notice.Channel, notice.RequestHandle, notice.Principal, notice.Step, notice.Turn),
		RunID: runID, Kind: api.EffectNotify, TargetSessionID: sessionID, WebhookID: model.NoticeWebhookID(notice.Channel),
		Payload: document.Encode(notice),
	})
}

// withdrawNotices enqueues the withdrawal of the messages about a request that is being settled: one effect
// for each channel that withdraws.
func (w *workingCopy) withdrawNotices(request *model.Request) {
	if request.EscalationState == nil {
		return
	}
	for _, channel := range request.Progress().Withdraw {
		w.enqueueEffect(&model.Effect{
			SessionID: request.SessionID, EffectID: model.WithdrawalEffectID(channel, request.Handle), RunID: request.RunID, Kind: api.EffectNotify,
			TargetSessionID: request.SessionID, WebhookID: model.NoticeWebhookID(channel),
			Payload: document.Encode(model.PersonNotice{RequestHandle: request.Handle, RequestID: request.RequestID, Channel: channel, Withdraws: true}),
		})
	}
}

// withdraws reports whether an effect withdraws messages about a settled request.
func withdraws(effect *model.Effect) bool {
	if effect.Kind != api.EffectNotify {
		return false
	}
	notice, err := model.NoticeOf(effect)
	return err == nil && notice.Withdraws
}

// passOn has a message that was given up sent to the person's next address. It ends the effect, and returns false
// if nobody needs the message any more.
func (w *workingCopy) passOn(effect *model.Effect, next *NextAddress, failure string) bool {
	run := w.run(effect.RunID)
	notice, err := model.NoticeOf(effect)
	if err != nil || notice.Withdraws || run == nil {
		return false
	}
	finished := model.Terminal(run.Status)
	request := w.request(run.RunID, notice.RequestID)
	open := !finished && request != nil && request.Open() && request.Handle == notice.RequestHandle
	if !open && !next.ForOthers {
		return false
	}
	if !finished { // a finished run gets no more events
		w.emit(run, api.EventNotificationFailed, notificationFailedEvent{api.EventNotificationFailed, notice.RequestID, notice.Principal, notice.Channel, next.To.Channel})
		w.saveRun(run)
	}
	passed := *notice
	passed.Principal, passed.Channel = next.To.Principal, next.To.Channel
	passed.Turn, passed.Tried, passed.Later = notice.Turn+1, next.Tried, next.Later
	passed.InPlaceOf, passed.Failure = effect.EffectID, StorableText(failure)
	w.enqueueMessage(effect.SessionID, effect.RunID, &passed)
	if open && next.To.Withdraws {
		var state model.EscalationState
		if request.EscalationState != nil {
			state = request.Progress()
		}
		state.WithdrawFrom(next.To.Channel)
		w.editRequest(request).EscalationState = document.Encode(state)
	}
	w.endEffect(effect, api.EffectDone, "")
	return true
}

// noteUndelivered writes the event that the service gave up on a message, and makes the next step of the
// escalation due at once. A finished run gets no more events.
func (w *workingCopy) noteUndelivered(effect *model.Effect) {
	run := w.run(effect.RunID)
	notice, err := model.NoticeOf(effect)
	if err != nil || run == nil || model.Terminal(run.Status) {
		return
	}
	w.emit(run, api.EventNotificationFailed, notificationFailedEvent{api.EventNotificationFailed, notice.RequestID, notice.Principal, notice.Channel, ""})
	if request := w.request(run.RunID, notice.RequestID); request != nil && request.Handle == notice.RequestHandle {
		w.hurry(request, notice.OfStep)
	}
	w.saveRun(run)
}

// acknowledgementCheckMs is how often a held notification is looked at again, because the person who
// holds it back may have lost their last credential.
const acknowledgementCheckMs = 60_000

// heldUntil returns when the messages to others about an open request may go out again: 0 for now. gone
// lists people without a credential.
func heldUntil(request *model.Request, nowMs int64, gone []string) (untilMs int64) {
	for _, a := range request.AcknowledgedAt(nowMs) {
		if !slices.Contains(gone, a.By) {
			untilMs = max(untilMs, a.UntilMs)
		}
	}
	return untilMs
}

// holdAdvance puts off the notification of a request. A check is not an attempt: it must not use them up.
func (w *workingCopy) holdAdvance(effect *model.Effect, untilMs int64) {
	effect.UndoAttempt()
	effect.DueAtMs, effect.LastError = min(untilMs, w.nowMs+acknowledgementCheckMs), model.HeldByViewer
}

// resumeAdvance makes the notification of a request due at once, if it was held back.
func (w *workingCopy) resumeAdvance(handle string) {
	effect, err := w.effect(model.EffectID(api.EffectAdvanceRequest, handle))
	if err != nil || effect.State != api.EffectPending || effect.LastError != model.HeldByViewer || effect.DueAtMs <= w.nowMs {
		return
	}
	effect.DueAtMs, effect.LastError = w.nowMs, ""
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
}
