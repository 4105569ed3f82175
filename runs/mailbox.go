package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ReadMailbox reads a session's messages, oldest first, at most
// MaxMailboxMessages. Reading leases a pending message for MessageLeaseMs: until
// then, no other reading shows it. Dead letters are shown whenever they are asked
// for.
//
// Reply: Messages. Errors: session_not_found.
type ReadMailbox struct {
	SessionID   string
	DeadLetters bool
}

// AcknowledgeMessage takes a message out of the mailbox, or out of the dead letters,
// for good.
//
// Reply: Messages holds it; Existing. Errors: session_not_found, message_not_found.
type AcknowledgeMessage struct {
	SessionID string
	MessageID string
}

// ReplayMessage puts a dead letter back into the mailbox, unless the child is over:
// then it is dead-lettered again (decisions.md 35).
//
// Reply: Messages holds it; Existing when it is in the mailbox already. Errors:
// session_not_found, message_not_found.
type ReplayMessage struct {
	SessionID string
	MessageID string
}

// Needs implements Command.
func (c *ReadMailbox) Needs() Needs {
	return Needs{SessionID: c.SessionID, Mailbox: true, DeadLetters: c.DeadLetters}
}

func (c *ReadMailbox) prepare(IDSource) error { return nil }

func (c *ReadMailbox) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	reply := Reply{Messages: []model.Message{}}
	for _, message := range w.mailbox() {
		w.deadLetterIfStale(message)
		switch {
		case c.DeadLetters && message.State == api.MessageDeadLetter:
			reply.Messages = append(reply.Messages, *message)
		case !c.DeadLetters && message.State == api.MessagePending && message.LeaseExpiresAtMs <= w.nowMs:
			message.DeliveryAttempts++
			message.LeaseExpiresAtMs = w.nowMs + model.MessageLeaseMs
			w.saveMessage(message)
			reply.Messages = append(reply.Messages, *message)
		}
	}
	return reply, nil
}

// Needs implements Command.
func (c *AcknowledgeMessage) Needs() Needs {
	return Needs{SessionID: c.SessionID, MessageID: c.MessageID}
}

func (c *AcknowledgeMessage) prepare(IDSource) error { return nil }

func (c *AcknowledgeMessage) decide(w *workingCopy) (Reply, error) {
	message, err := w.namedMessage(c.SessionID, c.MessageID)
	if err != nil {
		return Reply{}, err
	}
	if message.State == api.MessageAcknowledged {
		return Reply{Messages: []model.Message{*message}, Existing: true}, nil
	}
	w.acknowledge(message)
	return Reply{Messages: []model.Message{*message}}, nil
}

// Needs implements Command.
func (c *ReplayMessage) Needs() Needs {
	return Needs{SessionID: c.SessionID, MessageID: c.MessageID}
}

func (c *ReplayMessage) prepare(IDSource) error { return nil }

func (c *ReplayMessage) decide(w *workingCopy) (Reply, error) {
	message, err := w.namedMessage(c.SessionID, c.MessageID)
	if err != nil {
		return Reply{}, err
	}
	w.deadLetterIfStale(message)
	switch {
	case message.State == api.MessageAcknowledged:
		return Reply{}, refusal.New(api.CodeMessageNotFound, "message %s was acknowledged and is no dead letter", c.MessageID)
	case message.State == api.MessagePending:
		return Reply{Messages: []model.Message{*message}, Existing: true}, nil
	case w.childIsOver():
		w.deadLetter(message, childIsClosed)
	default:
		message.State = api.MessagePending
		message.DeliveryAttempts, message.LeaseExpiresAtMs, message.LastError = 0, 0, ""
		w.saveMessage(message)
	}
	return Reply{Messages: []model.Message{*message}}, nil
}
