package api

// Suspension is what a worker wants to wait for. It must ask for something.
type Suspension struct {
	SuspensionID string                `json:"suspension_id,omitempty"` // made when empty
	Approvals    []ApprovalRequest     `json:"approvals,omitempty"`
	Questions    []UserQuestionRequest `json:"questions,omitempty"`
	Checkpoint   JSON                  `json:"checkpoint,omitzero"`
	// Hold keeps the lease: the worker stays attached while people decide.
	Hold bool `json:"hold,omitzero"`
	// SettledAfter says which resolutions the checkpoint has taken in: those up to
	// this number in the order of the run's decisions. When it is absent, a
	// checkpoint counts as having taken in all that was settled when it was stored.
	SettledAfter *int64 `json:"settled_after,omitempty,string"`
}

// InboxView is what is open in all sessions, on the wire (decisions.md 15): the
// snapshot of the inbox's stream.
type InboxView struct {
	PendingApprovals []PendingApprovalView `json:"pending_approvals"`
	PendingQuestions []PendingQuestionView `json:"pending_questions"`
	// More says that there are others, which are in the lists of approvals and questions.
	More bool `json:"more,omitzero"`
}

// ApprovalRequest asks whether one tool call may run (kheish.md, decision 14).
type ApprovalRequest struct {
	ID string `json:"id"`
	// Handle identifies the request among all requests of all runs. The service
	// makes it; one that a caller sends is ignored (decisions.md 3).
	Handle      string   `json:"handle,omitempty"`
	ToolCallID  string   `json:"tool_call_id"`
	ToolName    string   `json:"tool_name"`
	Input       JSON     `json:"input"`
	Scope       string   `json:"scope,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	Description string   `json:"description,omitempty"`
	InputSchema JSON     `json:"input_schema,omitzero"`
	PatternKeys []string `json:"pattern_keys,omitempty"`
	Metadata    JSON     `json:"metadata,omitzero"`
	CreatedAtMs int64    `json:"created_at_ms,omitzero"`
	ExpiresAtMs *int64   `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs is accepted on the way in only: it becomes ExpiresAtMs.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
}

// UserQuestionRequest asks a person one to 16 structured questions, or for one
// value typed by a JSON Schema (kheish.md 1.2, 1.12 and decisions 14 and 15).
type UserQuestionRequest struct {
	ID         string         `json:"id"`
	Handle     string         `json:"handle,omitempty"`
	ToolCallID string         `json:"tool_call_id"`
	Questions  []UserQuestion `json:"questions"`
	// Kind and Payload describe a typed question to the one who shows it.
	Kind           string `json:"kind,omitempty"`
	Payload        JSON   `json:"payload,omitzero"`
	ResponseSchema JSON   `json:"response_schema,omitzero"`
	Metadata       JSON   `json:"metadata,omitzero"`
	CreatedAtMs    int64  `json:"created_at_ms"`
	ExpiresAtMs    *int64 `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs is accepted on the way in only: it becomes ExpiresAtMs.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
	// PartialAnswers shows what has been answered of a pending request, in the order of
	// the questions. The service gives it; what a caller sends is ignored.
	PartialAnswers []UserQuestionAnswer `json:"partial_answers,omitempty"`
}

// UserQuestion is one structured question. Without options it takes free text
// only.
type UserQuestion struct {
	ID          string           `json:"id"`
	Header      string           `json:"header"`
	Question    string           `json:"question"`
	MultiSelect bool             `json:"multi_select"`
	Options     []QuestionOption `json:"options"`
}

// QuestionOption is one choice of a structured question.
type QuestionOption struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// PendingQuestionView is an open question with its context (kheish.md 1.2).
type PendingQuestionView struct {
	SessionID string  `json:"session_id"`
	AgentID   string  `json:"agent_id"`
	RunID     string  `json:"run_id,omitempty"`
	RunKind   RunKind `json:"run_kind,omitempty"`
	Requester
	Request UserQuestionRequest `json:"request"`
}

// PendingApprovalView is an open approval with its context (kheish.md, decision
// 10).
type PendingApprovalView struct {
	SessionID string          `json:"session_id"`
	AgentID   string          `json:"agent_id"`
	RunID     string          `json:"run_id"`
	Request   ApprovalRequest `json:"request"`
}
