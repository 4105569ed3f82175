package doctor

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// answerSubject and answerType are those of the only messages that there are
// (v1-work.md "Clarifications and mailbox", kheish.md 1.13.5).
const (
	answerSubject = "clarification_answer"
	answerType    = "parent_clarification_answer"
)

// messagePayload is what the checks read of a message's payload.
type messagePayload struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
}

func (e *examiner) readMessages(rows model.RowSequence[model.Message]) error {
	if rows == nil {
		return nil
	}
	for message, err := range rows {
		if err != nil {
			return err
		}
		e.summary.Rows.Messages++
		e.checkMessage(message, Finding{RunID: message.RunID, MessageID: message.MessageID})
	}
	return nil
}

func (e *examiner) checkMessage(message *model.Message, at Finding) {
	if wrong := messageContradiction(message); wrong != "" {
		e.find(MessageStateWrong, at, "the message is %s, but %s", message.State, wrong)
	}
	// Whatever else is wrong with it, the message is there.
	if requestID, derived := strings.CutPrefix(message.MessageID, model.MessageIDOf("")); derived {
		e.delivered[runs.RequestKey{RunID: message.RunID, RequestID: requestID}] = true
	}
	if e.runs[message.RunID] == nil {
		e.find(MessageWithoutRun, at, "the session does not have the run that the message is for")
		return
	}
	var payload messagePayload
	if message.Subject != answerSubject || json.Unmarshal(message.Payload, &payload) != nil || payload.Type != answerType || payload.RequestID == "" {
		e.find(MessageUnreadable, at, "the payload is not the JSON of a message about %q", message.Subject)
		return
	}
	e.delivered[runs.RequestKey{RunID: message.RunID, RequestID: payload.RequestID}] = true
	if id := model.MessageIDOf(payload.RequestID); message.MessageID != id {
		e.find(MessageIDWrong, at, "the id should be %s", id)
	}
}

// messageContradiction returns what says something else than the message's state, or
// "".
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
		return "a reading keeps it"
	case message.DeliveryAttempts < 0 || message.DeliveryAttempts > model.MaxDeliveryAttempts:
		return "it was read a number of times that is not possible"
	case message.State == api.MessagePending && message.LastError != "":
		return "it tells of an error"
	case message.State == api.MessageDeadLetter && message.LastError == "":
		return "it does not say why"
	}
	return ""
}
