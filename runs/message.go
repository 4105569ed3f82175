package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	messageTypeAnswer = "parent_clarification_answer"
	subjectAnswer     = "clarification_answer"

	childIsClosed     = "parent clarification answer could not be delivered because the child agent is closed"
	neverAcknowledged = "was read 3 times and never acknowledged"
)

// message returns the working copy of one of the session's messages, or nil. The
// copy is written once saveMessage was called.
func (w *work) message(messageID string) *model.Message {
	if message := w.messages[messageID]; message != nil {
		return message
	}
	row := w.state.Messages[messageID]
	if row == nil || row.SessionID != w.state.SessionID {
		return nil
	}
	message := *row
	w.messages[messageID] = &message
	return &message
}

func (w *work) saveMessage(message *model.Message) {
	for _, saved := range w.changes.UpdatedMessages {
		if saved == message {
			return
		}
	}
	w.changes.UpdatedMessages = append(w.changes.UpdatedMessages, message)
}

// deadLetter takes a message out of the mailbox.
func (w *work) deadLetter(message *model.Message, why string) {
	message.State = api.MessageDeadLetter
	message.LastError = why
	message.LeaseExpiresAtMs = 0
	w.saveMessage(message)
}

// acknowledge marks a message as taken in.
func (w *work) acknowledge(message *model.Message) {
	message.State = api.MessageAcknowledged
	message.AcknowledgedAtMs = w.nowMs
	message.LeaseExpiresAtMs = 0
	w.saveMessage(message)
}

// childIsOver reports whether nobody is left in the session who could take a
// message: it has ended, or nothing is active in it (decisions.md 35). A run that
// asked and is not over is the active one.
func (w *work) childIsOver() bool {
	return w.session.EndedAtMs != 0 || w.session.ActiveRunID == ""
}
