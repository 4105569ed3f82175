package runs

// RequestKind says what a request asks a person for.
type RequestKind string

// The kinds of requests.
const (
	KindApproval RequestKind = "approval"
	KindQuestion RequestKind = "question"
	// KindClarification is a question that the run asks its parent's session. Nobody
	// settles it here: the answer comes from there, or the run ends.
	KindClarification RequestKind = "clarification"
)

// Outcome is what became of a request. It is written once and never overwritten;
// expired is never shown as denied.
type Outcome string

// The outcomes of requests.
const (
	OutcomeAllowed   Outcome = "allowed"
	OutcomeDenied    Outcome = "denied"
	OutcomeAnswered  Outcome = "answered"
	OutcomeDeclined  Outcome = "declined"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeExpired   Outcome = "expired"
)

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

// Request is one row of what a run asked for.
type Request struct {
	SessionID string
	RunID     string
	RequestID string // unique in its run
	Handle    string // unique everywhere
	// SuspensionID and SuspensionDigest tell a repeated suspend call from another
	// one that uses the same suspension id.
	SuspensionID     string
	SuspensionDigest string
	// Number counts the requests of the run in the order in which they were raised.
	Number int64
	Kind   RequestKind
	// Body is the ApprovalRequest or the UserQuestionRequest as it is shown, or the
	// Clarification.
	Body JSON
	// DueAtMs is the deadline of an open request, 0 when it has none. It is
	// cleared when the request is settled, so that an index on it holds only what
	// may still expire; the deadline that was set stays in the body.
	DueAtMs     int64
	CreatedAtMs int64

	// Outcome is empty while the request is open.
	Outcome Outcome
	// SettledNumber is its place in the order of the run's decisions, from 1; 0
	// while it is open.
	SettledNumber int64
	// Resolution is the Resolution as it was recorded; nil while it is open.
	Resolution  JSON
	SettledAtMs int64
	// RuleID names the rule that settled it; empty when none did.
	RuleID string
	// PartialAnswers holds answers to some of the questions, a list of
	// UserQuestionAnswer; nil when there are none, and once it is settled.
	PartialAnswers JSON
}

// Open reports whether nothing has been decided about the request.
func (r *Request) Open() bool { return r.Outcome == "" }
