package api

// Requester says who asks a parent clarification, and in which context (kheish.md
// 1.2, PendingQuestionView). Members that are not known are omitted.
type Requester struct {
	RequesterAgentID    string   `json:"requester_agent_id,omitempty"`
	RequesterSessionID  string   `json:"requester_session_id,omitempty"`
	RequesterRunID      string   `json:"requester_run_id,omitempty"`
	RequesterToolCallID string   `json:"requester_tool_call_id,omitempty"`
	RequesterProjectIDs []string `json:"requester_project_ids,omitempty"`
	RequesterChannelIDs []string `json:"requester_channel_ids,omitempty"`
	ParentProjectIDs    []string `json:"parent_project_ids,omitempty"`
	ParentChannelIDs    []string `json:"parent_channel_ids,omitempty"`
}

// WaitingOn names the clarification that a parked child waits for.
type WaitingOn struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
}

// ClarificationAnswer is the answer that a child is handed: in its Resume when it
// was parked, and in its mailbox (kheish.md 1.13.5).
type ClarificationAnswer struct {
	RequestID     string           `json:"request_id"`
	Declined      bool             `json:"declined"`
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"`
	Justification *string          `json:"justification"`
	// RuntimePayload is what a dialect owes the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
}

// MessageState says where a message is.
type MessageState string

// The states of messages.
const (
	MessagePending      MessageState = "pending"
	MessageDeadLetter   MessageState = "dead_letter"
	MessageAcknowledged MessageState = "acknowledged"
)

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
