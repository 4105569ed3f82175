package api

// Suspension is the set of requests that a worker raises: 1 to MaxRequestsPerSuspension in total.
type Suspension struct {
	// SuspensionID makes the call idempotent. The service generates one when it is absent.
	SuspensionID string                `json:"suspension_id,omitempty" body:"filled"`
	Approvals    []ApprovalRequest     `json:"approvals,omitempty"`
	Questions    []UserQuestionRequest `json:"questions,omitempty"`
	Checkpoint   JSON                  `json:"checkpoint,omitzero"`
	// Hold keeps the lease: the worker stays attached while people decide.
	Hold bool `json:"hold,omitzero"`
	// CancelWhenAbandoned makes the service cancel the run once its worker has been silent for its lease
	// and as long again, at least DefaultLeaseMs in a run that was there before, because no worker would
	// act on the decision. It needs Hold.
	CancelWhenAbandoned bool `json:"cancel_when_abandoned,omitzero"`
	// AbandonedAfterMs, in place of CancelWhenAbandoned, is how long the worker must be silent after its lease, MinLeaseMs
	// to MaxAbandonedAfterMs. Only a run with an open request is then cancelled: a decision stays until it is read. It
	// needs Hold. A service that does not know it cancels nothing.
	AbandonedAfterMs int64 `json:"abandoned_after_ms,omitzero"`
	// SettledAfter is the settled_number of the last decision that the checkpoint includes, or the
	// after of the attached wait. When absent, the checkpoint is assumed to include the decisions
	// in the worker's claim, and none that were settled later.
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
	// Resume is set when rules settled every request at once, or when a settled suspension is repeated
	// under the current lease; the lease then continues. With Hold it has the decisions about this
	// suspension alone, and Run has no Resume.
	Resume *Resume `json:"resume,omitempty"`
}

// InboxView is every open request of all sessions: the snapshot of the inbox stream.
type InboxView struct {
	PendingApprovals []PendingApprovalView `json:"pending_approvals"`
	PendingQuestions []PendingQuestionView `json:"pending_questions"`
	// More is set when the view is cut off. The lists of approvals and questions have the rest.
	More bool `json:"more,omitzero"`
	// ApprovalsCount and QuestionsCount count all open requests, including those cut off.
	ApprovalsCount int64 `json:"approvals_count"`
	QuestionsCount int64 `json:"questions_count"`
	// NowMs is the time of the view by the service's clock.
	NowMs int64 `json:"now_ms"`
}

// ApprovalRequest asks whether one tool call may run. Texts have at most MaxTextLength
// bytes.
type ApprovalRequest struct {
	_  struct{} `body:"closed"`
	ID string   `json:"id" body:"required"` // unique in its run
	// Handle identifies the request globally. The service generates it and ignores a value from the
	// caller.
	Handle     string `json:"handle,omitempty"`
	ToolCallID string `json:"tool_call_id" body:"required"` // at most MaxToolCallIDLength bytes
	ToolName   string `json:"tool_name" body:"required"`
	Input      JSON   `json:"input" body:"required"` // any value
	// InputTruncated is set in a summary when Input is a string: the first MaxSummaryInputBytes of
	// the input's JSON text, which is InputBytes long. The service sets both and ignores values
	// from the caller.
	InputTruncated bool  `json:"input_truncated,omitzero"`
	InputBytes     int64 `json:"input_bytes,omitzero"`
	// InputMembers is the number of members when Input is an object with several. A view that shows
	// one of them, such as a command line, can then say how many more there are. The service sets
	// it and ignores a value from the caller.
	InputMembers int64 `json:"input_members,omitzero"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of Input, as in
	// [RuleMatch]. The service computes it and ignores a value from the caller.
	InputDigest string `json:"input_digest,omitempty"`
	// Directory is the directory in which the call would run, if the input does not say so. At most
	// MaxDirectoryLength bytes. An allow rule that a decision creates applies in this directory only.
	Directory   string `json:"directory,omitempty"`
	Scope       string `json:"scope"`  // empty when the caller gave none
	Reason      string `json:"reason"` // empty when the caller gave none
	Description string `json:"description,omitempty"`
	// Hints are at most MaxHints of the agent's side. In a view, at most MaxHints of rules come before them.
	Hints       []Hint   `json:"hints,omitempty"`
	InputSchema JSON     `json:"input_schema,omitzero"`  // at most MaxSchemaBytes
	PatternKeys []string `json:"pattern_keys,omitempty"` // at most MaxPatternKeys
	// SensitivePaths are JSON Pointers into Input, at most MaxSensitivePaths. Only the worker that
	// holds the run sees these values, and InputDigest is then an HMAC. They also apply to an
	// UpdatedInput.
	SensitivePaths []string `json:"sensitive_paths,omitempty"`
	// ExcludeRequester means that the requesters may not allow it: see docs/security.md#four-eyes.
	ExcludeRequester bool `json:"exclude_requester,omitzero"`
	// Callback is for requests only and never returned: see [Callback].
	Callback *Callback `json:"callback,omitempty"`
	Metadata JSON      `json:"metadata,omitzero"` // an object
	// Traceparent is the W3C trace context in which the request was raised; empty when the call had
	// none. The service sets it and ignores a value from the caller.
	Traceparent string `json:"traceparent,omitempty"`
	CreatedAtMs int64  `json:"created_at_ms,omitzero"`
	ExpiresAtMs *int64 `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs is for requests only, 1 to MaxExpiresAfterMs. The service turns it into
	// ExpiresAtMs.
	ExpiresAfterMs *int64      `json:"expires_after_ms,omitempty"`
	Escalation     *Escalation `json:"escalation,omitempty"`
}

// Hint is a remark for the person who decides, such as what a command changes: of the agent's side, or of a
// standing rule (RuleHint). The service decides nothing by it.
type Hint struct {
	_     struct{}  `body:"closed"`
	Level HintLevel `json:"level" body:"required"`
	Text  string    `json:"text" body:"required"` // at most MaxHintLength bytes
	// RuleID is the rule that made it; empty for the agent's side. The service sets it, and refuses it from a
	// caller.
	RuleID string `json:"rule_id,omitempty" body:"filled"`
}

// HintLevel is how serious a hint is.
type HintLevel string

// The levels of hints.
const (
	HintInfo   HintLevel = "info"
	HintWarn   HintLevel = "warn"
	HintDanger HintLevel = "danger"
)

// UserQuestionRequest asks a person 1 to MaxQuestionsPerRequest structured questions, or for one
// value that a JSON Schema describes.
type UserQuestionRequest struct {
	_          struct{}       `body:"closed"`
	ID         string         `json:"id"` // unique in its run
	Handle     string         `json:"handle,omitempty"`
	ToolCallID string         `json:"tool_call_id"`
	Questions  []UserQuestion `json:"questions"` // empty for a typed question
	// Kind and Payload describe a typed question to the client that shows it.
	Kind           string `json:"kind,omitempty"`
	Payload        JSON   `json:"payload,omitzero"`
	ResponseSchema JSON   `json:"response_schema,omitzero"` // at most MaxSchemaBytes
	Hints          []Hint `json:"hints,omitempty"`          // at most MaxHints
	Metadata       JSON   `json:"metadata,omitzero"`        // an object
	// Sensitive means that only the worker that holds the run sees the answers.
	Sensitive bool `json:"sensitive,omitzero"`
	// Callback is for requests only and never returned: see [Callback].
	Callback    *Callback `json:"callback,omitempty"`
	Traceparent string    `json:"traceparent,omitempty"` // see ApprovalRequest
	CreatedAtMs int64     `json:"created_at_ms"`
	ExpiresAtMs *int64    `json:"expires_at_ms,omitempty"`
	// ExpiresAfterMs is for requests only, 1 to MaxExpiresAfterMs. The service turns it into
	// ExpiresAtMs.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
	// Escalation is not for questions to a parent.
	Escalation *Escalation `json:"escalation,omitempty"`
	// PartialAnswers are the answers so far to a pending request, in the order of the questions.
	// The service sets it and ignores a value from the caller.
	PartialAnswers []UserQuestionAnswer `json:"partial_answers,omitempty"`
}

// QuestionHeader is the format of the header of the nth question of a request, counted from 1, that has none.
const QuestionHeader = "Question %d"

// UserQuestion is one structured question. Without options it accepts free text only.
type UserQuestion struct {
	_           struct{}         `body:"closed"`
	ID          string           `json:"id"`
	Header      string           `json:"header"`
	Question    string           `json:"question" body:"required"`
	MultiSelect bool             `json:"multi_select"`
	Options     []QuestionOption `json:"options"` // at most MaxOptionsPerQuestion
	// AllowFreeform says whether an answer in the person's own words is accepted. When absent: true
	// without options, false with options. The service fills it in.
	AllowFreeform *bool `json:"allow_freeform,omitempty"`
	// Sensitive has the same effect as the request's Sensitive, for this question alone.
	Sensitive bool `json:"sensitive,omitzero"`
}

// TakesFreeform reports whether the question accepts an answer in the person's own words.
func (q *UserQuestion) TakesFreeform() bool {
	if q.AllowFreeform != nil {
		return *q.AllowFreeform
	}
	return len(q.Options) == 0
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
	// ParentSessionID is the parent of the session that asks; it and Session are absent in a
	// session's own view.
	ParentSessionID string `json:"parent_session_id,omitempty"`
	// Session is how people recognise the session.
	Session *SessionAbout       `json:"session,omitempty"`
	Request UserQuestionRequest `json:"request"`
	// Acknowledgement are the people who are looking at the request, oldest first. Some may have lapsed.
	Acknowledgement []Acknowledgement `json:"acknowledgement,omitempty"`
	// SnoozedUntilMs is until when the caller snoozes the request; 0 for never. It may have passed.
	SnoozedUntilMs int64 `json:"snoozed_until_ms,omitzero"`
	// MayDecide says whether the caller's allow or answer would be accepted now. It is nil if that was not read, and
	// in a session's own view.
	MayDecide *bool `json:"may_decide,omitempty"`
	// Explain is nil where there is nothing to say. Only the lists of requests have it.
	Explain *PendingExplanation `json:"explain,omitempty"`
}

// PendingApprovalView is an open approval with its context.
type PendingApprovalView struct {
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id"`
	RunID     string `json:"run_id"`
	// ParentSessionID is set when a child session asks.
	ParentSessionID string          `json:"parent_session_id,omitempty"`
	Session         *SessionAbout   `json:"session,omitempty"` // how people recognise the session
	Request         ApprovalRequest `json:"request"`
	// Acknowledgement is as in PendingQuestionView.
	Acknowledgement []Acknowledgement `json:"acknowledgement,omitempty"`
	// SnoozedUntilMs is until when the caller snoozes the request; 0 for never. It may have passed.
	SnoozedUntilMs int64 `json:"snoozed_until_ms,omitzero"`
	// MayDecide says whether the caller's allow or answer would be accepted now. It is nil if that was not read, and
	// in a session's own view.
	MayDecide *bool `json:"may_decide,omitempty"`
	// Explain is nil where there is nothing to say. Only the lists of requests have it.
	Explain *PendingExplanation `json:"explain,omitempty"`
}
