package api

// Requester identifies who asks a parent clarification, and in which context. Unknown
// members are omitted.
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

// WaitingOn names the clarification that a parked child waits for: the run in the
// parent's session and the request on it.
type WaitingOn struct {
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
}

// ClarificationAnswer is the answer of the parent's session as the child gets it: in
// its Resume when it was parked, otherwise as the payload of a message in its mailbox.
type ClarificationAnswer struct {
	RequestID string `json:"request_id"`
	Declined  bool   `json:"declined"`
	// Summary is the answers as one text.
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"` // of a typed question
	Justification *string          `json:"justification"`
	// RuntimePayload is what a dialect adds for the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
	// Traceparent is that of the question; see ApprovalRequest.
	Traceparent string `json:"traceparent,omitempty"`
}

// AskParentBody asks the parent's session on behalf of a run.
type AskParentBody struct {
	Fence   *string             `json:"fence,omitzero" body:"required"`
	Request UserQuestionRequest `json:"request" body:"required"`
	// Park ends the lease and lets the run wait for the answer. Otherwise the run goes on,
	// and the answer is delivered to the mailbox of its session.
	Park bool `json:"park,omitzero"`
	// Checkpoint is stored with Park, and refused without.
	Checkpoint JSON `json:"checkpoint,omitzero"`
	// The ids of both contexts are shown to the person who answers, at most MaxContextIDs
	// each.
	RequesterProjectIDs []string `json:"requester_project_ids,omitempty"`
	RequesterChannelIDs []string `json:"requester_channel_ids,omitempty"`
	ParentProjectIDs    []string `json:"parent_project_ids,omitempty"`
	ParentChannelIDs    []string `json:"parent_channel_ids,omitempty"`
}

// AskParentReply is the reply to an [AskParentBody].
type AskParentReply struct {
	// Clarification is the run in the parent's session that waits for the answer.
	Clarification RunView `json:"clarification"`
	// Run is the run that asks. With Park it has no lease, unless the same question was
	// asked, and answered, before.
	Run RunView `json:"run"`
}

// MessageState says where a message of a mailbox is.
type MessageState string

// The states of messages.
const (
	// MessagePending: readable, or leased by a reader that has not acknowledged it.
	MessagePending MessageState = "pending"
	// MessageDeadLetter: given up after three deliveries without an acknowledgement, or
	// not deliverable.
	MessageDeadLetter   MessageState = "dead_letter"
	MessageAcknowledged MessageState = "acknowledged"
)

// MessageView is a message of a session's mailbox.
type MessageView struct {
	MessageID string       `json:"message_id"`
	State     MessageState `json:"state"`
	// Subject is "clarification_answer", whose Payload is a ClarificationAnswer.
	Subject       string `json:"subject"`
	Payload       JSON   `json:"payload"`
	FromSessionID string `json:"from_session_id"`
	CreatedAtMs   int64  `json:"created_at_ms"`
	// DeliveryAttempts counts the readings that leased the message.
	DeliveryAttempts int64 `json:"delivery_attempts"`
	// LastError says why a dead letter is one.
	LastError string `json:"last_error,omitempty"`
}

// AcknowledgedReply is the reply to the acknowledgement of a message.
type AcknowledgedReply struct {
	Acknowledged bool   `json:"acknowledged"` // always true
	MessageID    string `json:"message_id"`
}
