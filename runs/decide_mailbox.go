package runs

import (
	"cmp"
	"slices"
	"strings"
)

// Needs implements Command.
func (c *ReadMailbox) Needs() Needs {
	return Needs{SessionID: c.SessionID, Mailbox: true, DeadLetters: c.DeadLetters}
}

func (c *ReadMailbox) prepare(IDSource) error { return nil }

func (c *ReadMailbox) decide(w *work) (Reply, error) {
	if w.session == nil {
		return Reply{}, UnknownSession(c.SessionID)
	}
	reply := Reply{Messages: []Message{}}
	for _, message := range w.mailbox() {
		w.lapse(message)
		switch {
		case c.DeadLetters && message.State == MessageDeadLetter:
			reply.Messages = append(reply.Messages, *message)
		case !c.DeadLetters && message.State == MessagePending && message.LeaseExpiresAtMs <= w.nowMs:
			message.DeliveryAttempts++
			message.LeaseExpiresAtMs = w.nowMs + MessageLeaseMs
			w.saveMessage(message)
			reply.Messages = append(reply.Messages, *message)
		}
	}
	return reply, nil
}

// mailbox returns the loaded messages that are not acknowledged, oldest first.
func (w *work) mailbox() []*Message {
	var list []*Message
	for messageID := range w.state.Messages {
		if message := w.message(messageID); message != nil && message.State != MessageAcknowledged {
			list = append(list, message)
		}
	}
	slices.SortFunc(list, func(a, b *Message) int {
		return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), strings.Compare(a.MessageID, b.MessageID))
	})
	return list
}

// lapse dead-letters a message that was read too often, or whose session has ended.
// Nobody has to do it in time: whoever looks at the mailbox does it first.
func (w *work) lapse(message *Message) {
	switch {
	case message.State != MessagePending:
	case w.session.EndedAtMs != 0:
		w.deadLetter(message, childIsClosed)
	case message.DeliveryAttempts >= MaxDeliveryAttempts && message.LeaseExpiresAtMs <= w.nowMs:
		w.deadLetter(message, neverAcknowledged)
	}
}

// Needs implements Command.
func (c *AcknowledgeMessage) Needs() Needs {
	return Needs{SessionID: c.SessionID, MessageID: c.MessageID}
}

func (c *AcknowledgeMessage) prepare(IDSource) error { return nil }

func (c *AcknowledgeMessage) decide(w *work) (Reply, error) {
	message, err := w.namedMessage(c.SessionID, c.MessageID)
	if err != nil {
		return Reply{}, err
	}
	if message.State == MessageAcknowledged {
		return Reply{Messages: []Message{*message}, Existing: true}, nil
	}
	w.acknowledge(message)
	return Reply{Messages: []Message{*message}}, nil
}

// Needs implements Command.
func (c *ReplayMessage) Needs() Needs {
	return Needs{SessionID: c.SessionID, MessageID: c.MessageID}
}

func (c *ReplayMessage) prepare(IDSource) error { return nil }

func (c *ReplayMessage) decide(w *work) (Reply, error) {
	message, err := w.namedMessage(c.SessionID, c.MessageID)
	if err != nil {
		return Reply{}, err
	}
	w.lapse(message)
	switch {
	case message.State == MessageAcknowledged:
		return Reply{}, newError(CodeMessageNotFound, "message %s was acknowledged and is no dead letter", c.MessageID)
	case message.State == MessagePending:
		return Reply{Messages: []Message{*message}, Existing: true}, nil
	case w.childIsOver():
		w.deadLetter(message, childIsClosed)
	default:
		message.State = MessagePending
		message.DeliveryAttempts, message.LeaseExpiresAtMs, message.LastError = 0, 0, ""
		w.saveMessage(message)
	}
	return Reply{Messages: []Message{*message}}, nil
}

func (w *work) namedMessage(sessionID, messageID string) (*Message, error) {
	if w.session == nil {
		return nil, UnknownSession(sessionID)
	}
	message := w.message(messageID)
	if message == nil {
		return nil, newError(CodeMessageNotFound, "unknown message %s in session %s", messageID, sessionID)
	}
	return message, nil
}
