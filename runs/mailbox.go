package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ReadMailbox returns a session's pending messages, or its dead letters, oldest first. It considers
// the oldest MaxMailboxMessages of each state, up to MaxMailboxBytes. It leases each pending message
// for MessageLeaseMs, which hides it from other reads. Dead letters are not leased.
//
// Reply: Messages. Errors: session_not_found.
type ReadMailbox struct {
	SessionID   string
	DeadLetters bool // read the dead letters instead of the pending messages
}

// AcknowledgeMessage removes a message from the mailbox or the dead letters. Its row is kept.
//
// Reply: Messages has it; Existing when it was already acknowledged. Errors: session_not_found,
// message_not_found.
type AcknowledgeMessage struct {
	SessionID string
	MessageID string
}

// ReplayMessage makes a dead letter pending again and resets its delivery attempts. If the session
// has no run to read it, the message becomes a dead letter again at once
// (docs/spec/v1.md#dead-letters).
//
// Reply: Messages has it; Existing when it is already pending. Errors: session_not_found;
// message_not_found, even if the message existed and was acknowledged.
type ReplayMessage struct {
	SessionID string
	MessageID string
}

// Spec implements Command.
func (c *ReadMailbox) Spec() Spec {
	return Spec{Name: "ReadMailbox", Actions: works, Unleased: true, Target: TargetNamed, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *ReadMailbox) Needs() Needs {
	return Needs{SessionID: c.SessionID, Mailbox: true, DeadLetters: c.DeadLetters}
}

func (c *ReadMailbox) prepare(*Call, IDSource) error { return nil }

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

// Spec implements Command.
func (c *AcknowledgeMessage) Spec() Spec {
	return Spec{Name: "AcknowledgeMessage", Actions: works, Unleased: true, Target: TargetNamed, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *AcknowledgeMessage) Needs() Needs {
	return Needs{SessionID: c.SessionID, MessageID: c.MessageID}
}

func (c *AcknowledgeMessage) prepare(*Call, IDSource) error { return nil }

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

// Spec implements Command.
func (c *ReplayMessage) Spec() Spec {
	return Spec{Name: "ReplayMessage", Actions: administers, Target: TargetNamed, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *ReplayMessage) Needs() Needs {
	return Needs{SessionID: c.SessionID, MessageID: c.MessageID, UnfinishedBesides: true}
}

func (c *ReplayMessage) prepare(*Call, IDSource) error { return nil }

func (c *ReplayMessage) decide(w *workingCopy) (Reply, error) {
	message, err := w.namedMessage(c.SessionID, c.MessageID)
	if err != nil {
		return Reply{}, err
	}
	w.deadLetterIfStale(message)
	switch {
	case message.State == api.MessageAcknowledged:
		return Reply{}, refusal.New(api.CodeMessageNotFound, "message %s was acknowledged and is not a dead letter", c.MessageID)
	case message.State == api.MessagePending:
		return Reply{Messages: []model.Message{*message}, Existing: true}, nil
	case w.childIsOver(message.RunID):
		w.deadLetter(message, childIsClosed)
	default:
		message.State = api.MessagePending
		message.DeliveryAttempts, message.LeaseExpiresAtMs, message.LastError = 0, 0, ""
		w.saveMessage(message)
	}
	return Reply{Messages: []model.Message{*message}}, nil
}
