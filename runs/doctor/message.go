package doctor

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
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

func (e *examiner) readMessages(rows runs.RowSequence[runs.Message]) error {
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

func (e *examiner) checkMessage(message *runs.Message, at Finding) {
	if wrong := messageContradiction(message); wrong != "" {
		e.find(MessageStateWrong, at, "the message is %s, but %s", message.State, wrong)
	}
	// Whatever else is wrong with it, the message is there.
	if requestID, derived := strings.CutPrefix(message.MessageID, runs.MessageIDOf("")); derived {
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
	if id := runs.MessageIDOf(payload.RequestID); message.MessageID != id {
		e.find(MessageIDWrong, at, "the id should be %s", id)
	}
}

// messageContradiction returns what says something else than the message's state, or
// "".
func messageContradiction(message *runs.Message) string {
	acknowledged := message.State == runs.MessageAcknowledged
	switch {
	case message.State != runs.MessagePending && message.State != runs.MessageDeadLetter && !acknowledged:
		return "there is no such state"
	case acknowledged && message.AcknowledgedAtMs == 0:
		return "acknowledged_at_ms is not set"
	case !acknowledged && message.AcknowledgedAtMs != 0:
		return "acknowledged_at_ms is set"
	case message.State != runs.MessagePending && message.LeaseExpiresAtMs != 0:
		return "a reading keeps it"
	case message.DeliveryAttempts < 0 || message.DeliveryAttempts > runs.MaxDeliveryAttempts:
		return "it was read a number of times that is not possible"
	case message.State == runs.MessagePending && message.LastError != "":
		return "it tells of an error"
	case message.State == runs.MessageDeadLetter && message.LastError == "":
		return "it does not say why"
	}
	return ""
}
