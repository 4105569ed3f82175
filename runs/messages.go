package runs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// clarificationMessage is the payload of a message that carries an answer.
type clarificationMessage struct {
	Type string `json:"type"`
	api.ClarificationAnswer
}

// acknowledgeAnswers acknowledges the messages whose answers are in the Resume of a claimed parked
// run, because the claim has delivered them.
func (w *workingCopy) acknowledgeAnswers(run *model.Run) {
	for _, request := range w.requestsOf(run.RunID) {
		if request.Open() || !request.Parked() {
			continue
		}
		message := w.message(model.MessageIDOf(request.RequestID))
		if message != nil && message.RunID == run.RunID && message.State != api.MessageAcknowledged {
			w.acknowledge(message)
		}
	}
}

// mailbox returns the loaded unacknowledged messages, oldest first.
func (w *workingCopy) mailbox() []*model.Message {
	var list []*model.Message
	for messageID := range w.state.Messages {
		if message := w.message(messageID); message != nil && message.State != api.MessageAcknowledged {
			list = append(list, message)
		}
	}
	slices.SortFunc(list, func(a, b *model.Message) int {
		return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), strings.Compare(a.MessageID, b.MessageID))
	})
	return list
}

// deadLetterIfStale turns a pending message into a dead letter if its session has ended or it
// was read too often. Every read of the mailbox checks this, so no timer is needed.
func (w *workingCopy) deadLetterIfStale(message *model.Message) {
	switch {
	case message.State != api.MessagePending:
	case w.session.EndedAtMs != 0:
		w.deadLetter(message, childIsClosed)
	case message.DeliveryAttempts >= model.MaxDeliveryAttempts && message.LeaseExpiresAtMs <= w.nowMs:
		w.deadLetter(message, neverAcknowledged)
	}
}

// namedMessage returns a message by id. Errors: session_not_found, message_not_found.
func (w *workingCopy) namedMessage(sessionID, messageID string) (*model.Message, error) {
	if w.session == nil {
		return nil, refusal.UnknownSession(sessionID)
	}
	message := w.message(messageID)
	if message == nil {
		return nil, refusal.New(api.CodeMessageNotFound, "unknown message %s in session %s", messageID, sessionID)
	}
	return message, nil
}

// The type and subject of a message that carries an answer (docs/spec/v1.md#mailbox).
const (
	messageTypeAnswer = "parent_clarification_answer"
	subjectAnswer     = "clarification_answer"
)

// Values of a dead letter's last_error.
const (
	childIsClosed     = "parent clarification answer could not be delivered because the child agent is closed"
	neverAcknowledged = "was read 3 times and never acknowledged"
)

// message returns the working copy of one of the session's messages, or nil. Changes are written
// only after saveMessage.
func (w *workingCopy) message(messageID string) *model.Message {
	if message := w.messages[messageID]; message != nil {
		return message
	}
	row := w.state.Messages[messageID]
	if row == nil || row.SessionID != w.state.SessionID {
		return nil
	}
	message := *row
	put(&w.messages, messageID, &message)
	return &message
}

// saveMessage writes the message with the change. Call it after every edit.
func (w *workingCopy) saveMessage(message *model.Message) {
	if slices.Contains(w.changes.UpdatedMessages, message) {
		return
	}
	w.changes.UpdatedMessages = append(w.changes.UpdatedMessages, message)
}

// deadLetter turns a message into a dead letter with why as its last_error.
func (w *workingCopy) deadLetter(message *model.Message, why string) {
	message.State = api.MessageDeadLetter
	message.LastError = why
	message.LeaseExpiresAtMs = 0
	w.saveMessage(message)
}

func (w *workingCopy) acknowledge(message *model.Message) {
	message.State = api.MessageAcknowledged
	message.AcknowledgedAtMs = w.nowMs
	message.LeaseExpiresAtMs = 0
	w.saveMessage(message)
}

// childIsOver reports whether nobody reads the session's messages: it has ended, or no run is active, and the run that
// asked is over. A call is never the active run, because it takes no slot. Of many open calls only the oldest are loaded:
// then a call that is not loaded counts as open, even if it is over.
func (w *workingCopy) childIsOver(askedBy string) bool {
	run := w.run(askedBy)
	over := run == nil && w.state.Cut[api.KindCall] == nil || run != nil && model.Terminal(run.Status)
	return w.session.EndedAtMs != 0 || w.session.ActiveRunID == "" && over
}
