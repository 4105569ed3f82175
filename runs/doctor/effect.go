package doctor

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// effectRow is an effect with the checked parts of its payload.
type effectRow struct {
	*model.Effect
	readable bool
	payload  struct {
		ID    string `json:"id"`
		RunID string `json:"run_id"`
		// RequestHandle is the first withdrawn request.
		RequestHandle string `json:"request_handle"`
		// Principal, Channel, Step and Turn are of a message to a person.
		Principal string `json:"principal"`
		Channel   string `json:"channel"`
		Step      int64  `json:"step"`
		Turn      int64  `json:"turn"`
		// Withdraws is of the withdrawal of messages.
		Withdraws bool `json:"withdraws"`
		// EventID is the event delivered to a webhook.
		EventID int64 `json:"event_id"`
		// Handle is the request whose callback receives the effect.
		Handle string `json:"handle"`
		// Runs are the runs of the events to deliver.
		Runs []struct {
			Spans [][2]int64 `json:"spans"`
		} `json:"runs"`
		Request struct {
			ID     string `json:"id"`
			Handle string `json:"handle"`
		} `json:"request"`
	}
}

func readEffect(row *model.Effect) *effectRow {
	effect := &effectRow{Effect: row}
	known := model.CarriedOutWhere(row.Kind) != model.CarriedOutNowhere
	_, err := runs.CommandOf(row)
	effect.readable = known && err == nil && json.Unmarshal(row.Payload, &effect.payload) == nil
	return effect
}

// id is the id that an effect must have: the kind, and the clarification's run or the approval's
// handle.
func (f *effectRow) id() string {
	switch f.Kind {
	case api.EffectOpenClarification:
		return model.EffectID(f.Kind, f.payload.RunID)
	case api.EffectReviewApproval:
		return model.EffectID(f.Kind, f.payload.Request.Handle)
	case api.EffectDrainSession:
		return model.EffectID(f.Kind, f.payload.ID)
	case api.EffectCancelAbandoned, api.EffectAdvanceRequest:
		return model.EffectID(f.Kind, f.payload.RequestHandle)
	case api.EffectNotify:
		if f.payload.Withdraws {
			return model.WithdrawalEffectID(f.payload.Channel, f.payload.RequestHandle)
		}
		return model.NextNoticeEffectID(f.payload.Channel, f.payload.RequestHandle, f.payload.Principal, f.payload.Step, f.payload.Turn)
	case api.EffectDeliverWebhook:
		if f.WebhookID == api.CallbackWebhookID {
			origin, _ := model.CallbackOrigin(f.EffectID)
			return model.CallbackEffectID(origin, f.payload.Handle)
		}
		if len(f.payload.Runs) > 0 && len(f.payload.Runs[0].Spans) > 0 {
			return model.FanOutEffectID(f.WebhookID, f.SessionID, f.payload.Runs[0].Spans[0][0])
		}
		return model.WebhookEffectID(f.WebhookID, f.SessionID, f.payload.EventID)
	case api.EffectDeliverAnswer:
	}
	return model.EffectID(f.Kind, f.RunID)
}

// effectInvariants are checked for each effect.
var effectInvariants = table[*effectRow]{
	{invariant(EffectStateWrong, "`state`, `due_at_ms`, `finished_at_ms` and `last_error` contradict each other.", func(_ *examiner, f *effectRow) string {
		wrong := effectContradiction(f.Effect)
		return when(wrong != "", "the effect is %s, but %s", f.State, wrong)
	})},
	{
		invariant(EffectUnreadable, "The kind is unknown, or the payload is not the JSON of its kind. It cannot be carried out.", func(_ *examiner, f *effectRow) string {
			return unless(f.readable, "the payload is not the JSON of an effect of kind %q", f.Kind)
		}),
		invariant(EffectIDWrong, "The id is not the kind and the run of the clarification, the handle of the approval, the webhook and the event, or the id in the payload. It might be carried out twice.", func(_ *examiner, f *effectRow) string {
			return unless(f.EffectID == f.id(), "the id should be %s", f.id())
		}),
		invariant(EffectWithoutDecision, "No decision calls for the effect: its run is missing, has not asked this, has no answer, or has no such approval, or another session than the effect's asks or answers.", func(e *examiner, f *effectRow) string {
			why := undecided(e, f)
			return when(why != "", "no decision calls for the effect: %s", why)
		}),
	},
}

// effectContradiction returns what contradicts the effect's state, or "".
func effectContradiction(effect *model.Effect) string {
	pending := effect.State == api.EffectPending
	switch {
	case !model.KnownEffectState(effect.State):
		return "there is no such state"
	case pending && effect.DueAtMs == 0:
		return "due_at_ms is not set"
	case !pending && effect.DueAtMs != 0:
		return "due_at_ms is set"
	case pending && effect.FinishedAtMs != 0:
		return "finished_at_ms is set"
	case !pending && effect.FinishedAtMs == 0:
		return "finished_at_ms is not set"
	case effect.State == api.EffectDone && effect.LastError != "":
		return "last_error is set"
	case effect.State == api.EffectFailed && effect.LastError == "":
		return "last_error is not set"
	}
	return ""
}

// undecided returns why no decision causes the effect, or "".
func undecided(e *examiner, f *effectRow) string {
	of := e.runs[f.RunID]
	if of == nil {
		return "the session does not have its run"
	}
	about := e.requests[runs.RequestKey{RunID: f.RunID, RequestID: f.payload.Request.ID}]
	switch f.Kind {
	case api.EffectOpenClarification:
		if about == nil || about.kind != model.KindClarification || !about.unreadable && about.clarificationRunID != f.payload.RunID {
			return "its run has not asked this"
		}
		return unless(f.TargetSessionID == e.parentSessionID, "it asks session %q, but the session's parent is %q", f.TargetSessionID, e.parentSessionID)
	case api.EffectDrainSession:
		return unless(f.TargetSessionID == f.SessionID, "it drains another session, %q", f.TargetSessionID)
	case api.EffectCancelAbandoned:
		return unless(f.TargetSessionID == f.SessionID, "it is about another session, %q", f.TargetSessionID)
	case api.EffectDeliverWebhook, api.EffectAdvanceRequest, api.EffectNotify:
		return unless(f.TargetSessionID == f.SessionID, "it is about another session, %q", f.TargetSessionID)
	case api.EffectReviewApproval:
		return when(about == nil || about.kind != model.KindApproval || about.handle != f.payload.Request.Handle, "its run has no such approval")
	case api.EffectDeliverAnswer:
		if of.Kind != api.KindParentClarification || !of.over() {
			return "its run is not a settled clarification"
		}
		child := ""
		if of.requester != nil {
			child = of.requester.RequesterSessionID
		}
		return when(child != "" && f.TargetSessionID != child, "it answers session %q, but session %q asked", f.TargetSessionID, child)
	}
	return ""
}

// The subject and the type of the only messages: answers from a parent's session.
const (
	answerSubject = "clarification_answer"
	answerType    = "parent_clarification_answer"
)

// messageRow is a message with the checked parts of its payload.
type messageRow struct {
	*model.Message
	readable bool
	payload  struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
	}
}

// readMessage reads a message and notes which request it answers, by its id and by its payload,
// even if the rest is wrong.
func (e *examiner) readMessage(row *model.Message) *messageRow {
	message := &messageRow{Message: row}
	err := json.Unmarshal(row.Payload, &message.payload)
	message.readable = err == nil && row.Subject == answerSubject && message.payload.Type == answerType && message.payload.RequestID != ""
	if requestID, derived := strings.CutPrefix(row.MessageID, model.MessageIDPrefix); derived {
		e.answered[runs.RequestKey{RunID: row.RunID, RequestID: requestID}] = true
	}
	if message.readable && e.runs[row.RunID] != nil {
		e.answered[runs.RequestKey{RunID: row.RunID, RequestID: message.payload.RequestID}] = true
	}
	return message
}

// messageInvariants are checked for each message.
var messageInvariants = table[*messageRow]{
	{invariant(MessageStateWrong, "`state`, `acknowledged_at_ms`, `lease_expires_at_ms`, `delivery_attempts` and `last_error` contradict each other.", func(_ *examiner, m *messageRow) string {
		wrong := messageContradiction(m.Message)
		return when(wrong != "", "the message is %s, but %s", m.State, wrong)
	})},
	{
		invariant(MessageWithoutRun, "The session does not have the message's run, or the run does not have its request.", func(e *examiner, m *messageRow) string {
			if e.runs[m.RunID] == nil {
				return "the session does not have the run that the message is for"
			}
			requestID, derived := strings.CutPrefix(m.MessageID, model.MessageIDPrefix)
			return when(derived && e.requests[runs.RequestKey{RunID: m.RunID, RequestID: requestID}] == nil, "the run has no request %q", requestID)
		}),
		invariant(MessageUnreadable, "The subject is unknown, or the payload is not the JSON of its subject.", func(_ *examiner, m *messageRow) string {
			return unless(m.readable, "the payload is not the JSON of a message about %q", m.Subject)
		}),
		invariant(MessageIDWrong, "The id is not derived from the request that is answered. It might be delivered twice.", func(_ *examiner, m *messageRow) string {
			id := model.MessageIDOf(m.payload.RequestID)
			return unless(m.MessageID == id, "the id should be %s", id)
		}),
	},
}

// messageContradiction returns what contradicts the message's state, or "".
func messageContradiction(message *model.Message) string {
	acknowledged := message.State == api.MessageAcknowledged
	switch {
	case message.State != api.MessagePending && message.State != api.MessageDeadLetter && !acknowledged:
		return "there is no such state"
	case acknowledged && message.AcknowledgedAtMs == 0:
		return "acknowledged_at_ms is not set"
	case !acknowledged && message.AcknowledgedAtMs != 0:
		return "acknowledged_at_ms is set"
	case message.State != api.MessagePending && message.LeaseExpiresAtMs != 0:
		return "lease_expires_at_ms is set"
	case message.DeliveryAttempts < 0 || message.DeliveryAttempts > model.MaxDeliveryAttempts:
		return "delivery_attempts is out of range"
	case message.State == api.MessagePending && message.LastError != "":
		return "last_error is set"
	case message.State == api.MessageDeadLetter && message.LastError == "":
		return "last_error is not set"
	}
	return ""
}
