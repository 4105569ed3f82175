package model

import "github.com/holdpoint/holdpoint/api"

// Leases and limits of messages (docs/spec/v1.md#mailbox).
const (
	// MessageLeaseMs is how long a message is hidden from other readers after a read, in ms.
	MessageLeaseMs = 30_000
	// MaxDeliveryAttempts is how often an unacknowledged message may be read before it becomes a
	// dead letter.
	MaxDeliveryAttempts = 3
	// MaxMailboxMessages bounds the messages of each state that a read examines, oldest first.
	MaxMailboxMessages = 1_000
	// MaxMailboxBytes bounds their payloads. The first message is read whatever its size.
	MaxMailboxBytes = 4 << 20
)

// MessageIDPrefix starts the id of each message with the answer to a clarification. Ids of
// clarifications are shorter by its length, so the whole is a valid id.
const MessageIDPrefix = "parent-clarification-answer-"

// MessageIDOf returns the id of the message with the answer to a clarification. It is derived
// from the request id, so a redelivered answer is the same message.
func MessageIDOf(requestID string) string { return MessageIDPrefix + requestID }

// Message is a message in a session's mailbox. The row stays after the acknowledgement, so a
// redelivered answer is not delivered twice.
type Message struct {
	SessionID string
	MessageID string // unique in its session
	// RunID is the run that asked and receives the message.
	RunID         string
	FromSessionID string
	State         api.MessageState
	Subject       string
	Payload       api.JSON
	CreatedAtMs   int64
	// DeliveryAttempts counts the reads since it was delivered or replayed.
	DeliveryAttempts int64
	// LeaseExpiresAtMs is the end of the last reader's lease; 0 without one.
	LeaseExpiresAtMs int64
	LastError        string // why it is a dead letter
	AcknowledgedAtMs int64  // 0 before
}
