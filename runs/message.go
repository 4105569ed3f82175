package runs

// MessageState says where a message is.
type MessageState string

// The states of messages.
const (
	MessagePending      MessageState = "pending"
	MessageDeadLetter   MessageState = "dead_letter"
	MessageAcknowledged MessageState = "acknowledged"
)

// Leases of messages (v1-work.md "Clarifications and mailbox").
const (
	// MessageLeaseMs is how long a reading keeps a message from other readings.
	MessageLeaseMs = 30_000
	// MaxDeliveryAttempts is how often a message is read without being acknowledged
	// before it is dead-lettered.
	MaxDeliveryAttempts = 3
	// MaxMailboxMessages is how many messages of one state a reading looks at: the
	// oldest ones.
	MaxMailboxMessages = 1_000
)

const (
	messageTypeAnswer = "parent_clarification_answer"
	subjectAnswer     = "clarification_answer"
	messageIDOfAnswer = "parent-clarification-answer-"
	childIsClosed     = "parent clarification answer could not be delivered because the child agent is closed"
	neverAcknowledged = "was read 3 times and never acknowledged"
)

// MessageIDOf is the id of the message with the answer to a clarification. It is
// derived from the request, so that the message is delivered once however often the
// delivery is tried.
func MessageIDOf(requestID string) string { return messageIDOfAnswer + requestID }

// Message is one message in a session's mailbox. Its row stays after it was
// acknowledged, so that a late repetition of its delivery finds it.
type Message struct {
	SessionID string
	MessageID string // unique in its session
	// RunID is the run of the session that the message is for.
	RunID         string
	FromSessionID string
	State         MessageState
	Subject       string
	Payload       JSON
	CreatedAtMs   int64
	// DeliveryAttempts counts the readings since it was delivered or replayed.
	DeliveryAttempts int64
	// LeaseExpiresAtMs is until when the last reading keeps it; 0 when none does.
	LeaseExpiresAtMs int64
	LastError        string // why it was dead-lettered
	AcknowledgedAtMs int64  // 0 before
}

// MessageView is a message on the wire.
type MessageView struct {
	MessageID        string       `json:"message_id"`
	State            MessageState `json:"state"`
	Subject          string       `json:"subject"`
	Payload          JSON         `json:"payload"`
	FromSessionID    string       `json:"from_session_id"`
	CreatedAtMs      int64        `json:"created_at_ms"`
	DeliveryAttempts int64        `json:"delivery_attempts"`
	LastError        string       `json:"last_error,omitempty"`
}

// View returns the message as the wire shows it.
func (m *Message) View() MessageView {
	return MessageView{
		MessageID: m.MessageID, State: m.State, Subject: m.Subject, Payload: m.Payload,
		FromSessionID: m.FromSessionID, CreatedAtMs: m.CreatedAtMs,
		DeliveryAttempts: m.DeliveryAttempts, LastError: m.LastError,
	}
}

// message returns the working copy of one of the session's messages, or nil. The
// copy is written once saveMessage was called.
func (w *work) message(messageID string) *Message {
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

func (w *work) saveMessage(message *Message) {
	for _, saved := range w.changes.UpdatedMessages {
		if saved == message {
			return
		}
	}
	w.changes.UpdatedMessages = append(w.changes.UpdatedMessages, message)
}

// deadLetter takes a message out of the mailbox.
func (w *work) deadLetter(message *Message, why string) {
	message.State = MessageDeadLetter
	message.LastError = why
	message.LeaseExpiresAtMs = 0
	w.saveMessage(message)
}

// acknowledge marks a message as taken in.
func (w *work) acknowledge(message *Message) {
	message.State = MessageAcknowledged
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
