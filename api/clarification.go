package api

// Requester identifies the session and run that ask a parent clarification. Unknown members are
// omitted.
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

// WaitingOn names the clarification that a parked child waits for: a run in the parent's session
// and the request on it.
type WaitingOn struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
}

// ClarificationAnswer is the parent session's answer as the child receives it: in its Resume when
// it was parked, otherwise as the payload of a mailbox message.
type ClarificationAnswer struct {
	RequestID string `json:"request_id"`
	Declined  bool   `json:"declined"`
	// Summary is all answers as one text.
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"` // of a typed question
	Justification *string          `json:"justification"`
	// RuntimePayload is added by a dialect for the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
	// Traceparent is the question's traceparent; see ApprovalRequest.
	Traceparent string `json:"traceparent,omitempty"`
}

// AskParentBody asks the parent's session on behalf of a run.
type AskParentBody struct {
	Fence   *string             `json:"fence,omitzero" body:"required"`
	Request UserQuestionRequest `json:"request" body:"required"`
	// Park ends the lease; the run waits for the answer. Without it the run continues, and the
	// answer is delivered to the session's mailbox.
	Park bool `json:"park,omitzero"`
	// Checkpoint is stored with Park and refused without it.
	Checkpoint JSON `json:"checkpoint,omitzero"`
	// The ids of both contexts are shown to the person who answers, at most MaxContextIDs each.
	RequesterProjectIDs []string `json:"requester_project_ids,omitempty"`
	RequesterChannelIDs []string `json:"requester_channel_ids,omitempty"`
	ParentProjectIDs    []string `json:"parent_project_ids,omitempty"`
	ParentChannelIDs    []string `json:"parent_channel_ids,omitempty"`
}

// AskParentReply is the reply to an [AskParentBody].
type AskParentReply struct {
	// Clarification is the waiting run in the parent's session.
	Clarification RunView `json:"clarification"`
	// Run is the run that asks. With Park it has no lease, unless the same question was already
	// answered.
	Run RunView `json:"run"`
}

// MessageState is the state of a mailbox message.
type MessageState string

// States of messages.
const (
	// MessagePending: readable, or leased by a reader that has not acknowledged it.
	MessagePending MessageState = "pending"
	// MessageDeadLetter: cannot be delivered, or was delivered three times without an
	// acknowledgement.
	MessageDeadLetter   MessageState = "dead_letter"
	MessageAcknowledged MessageState = "acknowledged"
)

// MessageView is a message in a session's mailbox.
type MessageView struct {
	MessageID string       `json:"message_id"`
	State     MessageState `json:"state"`
	// Subject is "clarification_answer"; Payload is then a ClarificationAnswer.
	Subject       string `json:"subject"`
	Payload       JSON   `json:"payload"`
	FromSessionID string `json:"from_session_id"`
	CreatedAtMs   int64  `json:"created_at_ms"`
	// DeliveryAttempts counts the reads that leased the message.
	DeliveryAttempts int64 `json:"delivery_attempts"`
	// LastError says why the message is a dead letter.
	LastError string `json:"last_error,omitempty"`
}

// AcknowledgedReply is the reply when a message is acknowledged.
type AcknowledgedReply struct {
	Acknowledged bool   `json:"acknowledged"` // always true
	MessageID    string `json:"message_id"`
}
