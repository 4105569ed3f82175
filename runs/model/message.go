package model

import "github.com/holdpoint/holdpoint/api"

// Leases and limits of messages (docs/spec/v1.md#mailbox).
const (
	// MessageLeaseMs is how long a message that was read is not shown to other readers.
	MessageLeaseMs = 30_000
	// MaxDeliveryAttempts is how often a message may be read without an acknowledgement before
	// it is a dead letter.
	MaxDeliveryAttempts = 3
	// MaxMailboxMessages bounds the messages of each state that a read looks at: the oldest ones.
	MaxMailboxMessages = 1_000
	// MaxMailboxBytes bounds their payloads. One message is looked at, however large.
	MaxMailboxBytes = 4 << 20
)

// MessageIDPrefix begins the id of every message with the answer to a clarification. The ids of
// clarifications are shorter by its length, so that the whole is a valid id.
const MessageIDPrefix = "parent-clarification-answer-"

// MessageIDOf returns the id of the message with the answer to a clarification. It is derived
// from the request id, so that a redelivered answer is the same message.
func MessageIDOf(requestID string) string { return MessageIDPrefix + requestID }

// Message is one message in a session's mailbox. Its row stays after the acknowledgement, so
// that a redelivered answer finds it and is not delivered twice.
type Message struct {
	SessionID string
	MessageID string // unique in its session
	// RunID is the run that asked, and that gets the message.
	RunID         string
	FromSessionID string
	State         api.MessageState
	Subject       string
	Payload       api.JSON
	CreatedAtMs   int64
	// DeliveryAttempts counts the reads since it was delivered or replayed.
	DeliveryAttempts int64
	// LeaseExpiresAtMs is the end of the last reader's lease; 0 when there is none.
	LeaseExpiresAtMs int64
	LastError        string // why it is a dead letter
	AcknowledgedAtMs int64  // 0 before
}
