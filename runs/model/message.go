package model

import "github.com/holdpoint/holdpoint/api"

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
	MessageIDPrefix = "parent-clarification-answer-"
)

// MessageIDOf is the id of the message with the answer to a clarification. It is
// derived from the request, so that the message is delivered once however often the
// delivery is tried.
func MessageIDOf(requestID string) string { return MessageIDPrefix + requestID }

// Message is one message in a session's mailbox. Its row stays after it was
// acknowledged, so that a late repetition of its delivery finds it.
type Message struct {
	SessionID string
	MessageID string // unique in its session
	// RunID is the run of the session that the message is for.
	RunID         string
	FromSessionID string
	State         api.MessageState
	Subject       string
	Payload       api.JSON
	CreatedAtMs   int64
	// DeliveryAttempts counts the readings since it was delivered or replayed.
	DeliveryAttempts int64
	// LeaseExpiresAtMs is until when the last reading keeps it; 0 when none does.
	LeaseExpiresAtMs int64
	LastError        string // why it was dead-lettered
	AcknowledgedAtMs int64  // 0 before
}
