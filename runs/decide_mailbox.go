package runs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Needs implements Command.
func (c *ReadMailbox) Needs() Needs {
	return Needs{SessionID: c.SessionID, Mailbox: true, DeadLetters: c.DeadLetters}
}

func (c *ReadMailbox) prepare(IDSource) error { return nil }

func (c *ReadMailbox) decide(w *work) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	reply := Reply{Messages: []model.Message{}}
	for _, message := range w.mailbox() {
		w.lapse(message)
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

// mailbox returns the loaded messages that are not acknowledged, oldest first.
func (w *work) mailbox() []*model.Message {
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

// lapse dead-letters a message that was read too often, or whose session has ended.
// Nobody has to do it in time: whoever looks at the mailbox does it first.
func (w *work) lapse(message *model.Message) {
	switch {
	case message.State != api.MessagePending:
	case w.session.EndedAtMs != 0:
		w.deadLetter(message, childIsClosed)
	case message.DeliveryAttempts >= model.MaxDeliveryAttempts && message.LeaseExpiresAtMs <= w.nowMs:
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

func (c *ReplayMessage) decide(w *work) (Reply, error) {
	message, err := w.namedMessage(c.SessionID, c.MessageID)
	if err != nil {
		return Reply{}, err
	}
	w.lapse(message)
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

func (w *work) namedMessage(sessionID, messageID string) (*model.Message, error) {
	if w.session == nil {
		return nil, refusal.UnknownSession(sessionID)
	}
	message := w.message(messageID)
	if message == nil {
		return nil, refusal.New(api.CodeMessageNotFound, "unknown message %s in session %s", messageID, sessionID)
	}
	return message, nil
}
