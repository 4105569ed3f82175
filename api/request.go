package api

// Suspension is what a worker wants to wait for: 1 to MaxRequestsPerSuspension
// requests in all.
type Suspension struct {
	// SuspensionID makes the call idempotent; the service makes one when it is empty.
	SuspensionID string                `json:"suspension_id,omitempty"`
	Approvals    []ApprovalRequest     `json:"approvals,omitempty"`
	Questions    []UserQuestionRequest `json:"questions,omitempty"`
	Checkpoint   JSON                  `json:"checkpoint,omitzero"`
	// Hold keeps the lease: the worker stays attached while people decide.
	Hold bool `json:"hold,omitzero"`
	// CancelWhenAbandoned has the service cancel the run once its worker has been silent for its
	// lease and as long again: nobody would come back to what was decided. It needs Hold.
	CancelWhenAbandoned bool `json:"cancel_when_abandoned,omitzero"`
	// SettledAfter is the settled_number of the last decision that the checkpoint
	// includes, or the after of the attached wait. When it is absent, the checkpoint counts as
	// including what the worker got with its claim, and nothing that was settled since it attached.
	SettledAfter *int64 `json:"settled_after,omitempty,string"`
}

// SuspendBody raises requests on a claimed run.
type SuspendBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	Fence          *string `json:"fence,omitzero" body:"required"`
	Suspension
}

// SuspendReply is the reply to a [SuspendBody].
type SuspendReply struct {
	Run RunView `json:"run"`
	// Resume is set when rules settled everything at once; then the lease goes on.
	Resume *Resume `json:"resume,omitempty"`
}

// InboxView is what is open in all sessions: the snapshot of the inbox's stream.
type InboxView struct {
	PendingApprovals []PendingApprovalView `json:"pending_approvals"`
	PendingQuestions []PendingQuestionView `json:"pending_questions"`
	// More: the view is cut, and the lists of approvals and questions have the rest.
	More bool `json:"more,omitzero"`
	// ApprovalsCount and QuestionsCount count all that is open, also what the view leaves out.
	ApprovalsCount int64 `json:"approvals_count"`
	QuestionsCount int64 `json:"questions_count"`
	// NowMs is the moment of the view by the service's clock.
	NowMs int64 `json:"now_ms"`
}

// ApprovalRequest asks whether one tool call may run. Texts have at most MaxTextLength
// bytes.
type ApprovalRequest struct {
	_  struct{} `body:"closed"`
	ID string   `json:"id" body:"required"` // unique in its run
	// Handle identifies the request among all requests of all runs. The service makes it
	// and ignores one that a caller sends.
	Handle     string `json:"handle,omitempty"`
	ToolCallID string `json:"tool_call_id" body:"required"` // at most MaxToolCallIDLength bytes
	ToolName   string `json:"tool_name" body:"required"`
	Input      JSON   `json:"input" body:"required"` // any value
	// InputTruncated says, in a summary, that Input is a text: the first MaxSummaryInputBytes of the
	// input's JSON form, which has InputBytes. The service sets both and ignores what a caller sends.
	InputTruncated bool  `json:"input_truncated,omitzero"`
	InputBytes     int64 `json:"input_bytes,omitzero"`
	// InputMembers is how many members Input has when it is an object with several, so that a view of
	// one of them, such as a command line, can say how many more there are. The service sets it and
	// ignores what a caller sends.
	InputMembers int64 `json:"input_members,omitzero"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of Input, as in
	// [RuleMatch]. The service computes it and ignores one that a caller sends.
	InputDigest string   `json:"input_digest,omitempty"`
	Scope       string   `json:"scope"`  // empty when the caller gave none
	Reason      string   `json:"reason"` // empty when the caller gave none
	Description string   `json:"description,omitempty"`
	InputSchema JSON     `json:"input_schema,omitzero"`  // at most MaxSchemaBytes
	PatternKeys []string `json:"pattern_keys,omitempty"` // at most MaxPatternKeys
	// SensitivePaths are JSON Pointers into Input, at most MaxSensitivePaths: what they name is shown
	// to nobody but the worker that holds the run, and InputDigest is an HMAC then. They hold for an
	// UpdatedInput, too.
	SensitivePaths []string `json:"sensitive_paths,omitempty"`
	// ExcludeRequester says that none of those who asked may allow it: see docs/security.md#four-eyes.
	ExcludeRequester bool `json:"exclude_requester,omitzero"`
	// Callback is accepted on the way in only: see [Callback].
	Callback *Callback `json:"callback,omitempty"`
	Metadata JSON      `json:"metadata,omitzero"` // an object
	// Traceparent is where in a trace it was raised, by W3C Trace Context; empty when the call was in
	// none. The service sets it and ignores what a caller sends.
	Traceparent string `json:"traceparent,omitempty"`
	CreatedAtMs int64  `json:"created_at_ms,omitzero"`
	ExpiresAtMs *int64 `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs is accepted on the way in only, 1 to MaxExpiresAfterMs: it becomes
	// ExpiresAtMs.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
}

// UserQuestionRequest asks a person 1 to MaxQuestionsPerRequest structured questions,
// or for one value typed by a JSON Schema.
type UserQuestionRequest struct {
	_          struct{}       `body:"closed"`
	ID         string         `json:"id"` // unique in its run
	Handle     string         `json:"handle,omitempty"`
	ToolCallID string         `json:"tool_call_id"`
	Questions  []UserQuestion `json:"questions"` // empty for a typed question
	// Kind and Payload describe a typed question to the face that shows it.
	Kind           string `json:"kind,omitempty"`
	Payload        JSON   `json:"payload,omitzero"`
	ResponseSchema JSON   `json:"response_schema,omitzero"` // at most MaxSchemaBytes
	Metadata       JSON   `json:"metadata,omitzero"`        // an object
	// Sensitive says that no answer is shown to anybody but the worker that holds the run.
	Sensitive bool `json:"sensitive,omitzero"`
	// Callback is accepted on the way in only: see [Callback].
	Callback    *Callback `json:"callback,omitempty"`
	Traceparent string    `json:"traceparent,omitempty"` // see ApprovalRequest
	CreatedAtMs int64     `json:"created_at_ms"`
	ExpiresAtMs *int64    `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs is accepted on the way in only, 1 to MaxExpiresAfterMs: it becomes
	// ExpiresAtMs.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
	// PartialAnswers are the answers so far to a pending request, in the order of the
	// questions. The service sets it and ignores what a caller sends.
	PartialAnswers []UserQuestionAnswer `json:"partial_answers,omitempty"`
}

// UserQuestion is one structured question. Without options it takes free text only.
type UserQuestion struct {
	_           struct{}         `body:"closed"`
	ID          string           `json:"id"`
	Header      string           `json:"header"`
	Question    string           `json:"question" body:"required"`
	MultiSelect bool             `json:"multi_select"`
	Options     []QuestionOption `json:"options"` // at most MaxOptionsPerQuestion
	// Sensitive is that of the request, for this question alone.
	Sensitive bool `json:"sensitive,omitzero"`
}

// QuestionOption is one choice of a structured question.
type QuestionOption struct {
	_           struct{} `body:"closed"`
	ID          string   `json:"id"`
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	Preview     string   `json:"preview,omitempty"`
}

// PendingQuestionView is an open question with its context.
type PendingQuestionView struct {
	SessionID string  `json:"session_id"`
	AgentID   string  `json:"agent_id"`
	RunID     string  `json:"run_id,omitempty"`
	RunKind   RunKind `json:"run_kind,omitempty"`
	// Requester is set for a parent clarification.
	Requester
	Request UserQuestionRequest `json:"request"`
}

// PendingApprovalView is an open approval with its context.
type PendingApprovalView struct {
	SessionID string          `json:"session_id"`
	AgentID   string          `json:"agent_id"`
	RunID     string          `json:"run_id"`
	Request   ApprovalRequest `json:"request"`
}
