package api

// OutputRecord is a piece of a worker's output.
type OutputRecord struct {
	SessionID   string `json:"session_id"`
	RunID       string `json:"run_id"`
	Content     string `json:"content"`
	Parts       []JSON `json:"parts,omitzero"`
	CreatedAtMs int64  `json:"created_at_ms"`
	// Redacted: the content was removed.
	Redacted bool `json:"redacted,omitzero"`
}

// OutputEntry is an output record with its number in the session's log as decimal text.
type OutputEntry struct {
	EventID string `json:"event_id"`
	OutputRecord
}

// OutputPage is one page of the output records of a run, oldest first.
type OutputPage struct {
	Items []OutputEntry `json:"items"`
	// NextAfter is the after parameter of the next page; null on the last one.
	NextAfter *string `json:"next_after"`
}

// RunRequestSummary identifies the requester of a run and the beginning of its input.
type RunRequestSummary struct {
	SourcePlugin  string `json:"source_plugin"`
	SourceKind    string `json:"source_kind"`
	ActorID       string `json:"actor_id"`
	TextPreview   string `json:"text_preview,omitempty"`
	QuestionCount int64  `json:"question_count,omitzero"` // of a parent clarification
}

// Defaults of the members of [RunRequestSummary] for a run created through the API.
const (
	DefaultSourcePlugin = "daemon"
	DefaultSourceKind   = "api"
	DefaultActorID      = "api-user"
)

// LeaseView is a lease as all callers see it. The fence is never shown: only the holder knows it.
type LeaseView struct {
	WorkerID string `json:"worker_id"`
	// HolderPrincipal is the principal that claimed the run.
	HolderPrincipal string `json:"holder_principal,omitempty"`
	ExpiresAtMs     int64  `json:"expires_at_ms"`
}

// RunView is a run on the wire. Members without a value are omitted.
type RunView struct {
	RunID              string                `json:"run_id"`
	SessionID          string                `json:"session_id"`
	AgentID            string                `json:"agent_id"`
	Principal          string                `json:"principal,omitempty"`     // whose credential it was made with
	ParentRunID        string                `json:"parent_run_id,omitempty"` // of a clarification
	Kind               RunKind               `json:"kind"`
	Status             Status                `json:"status"`
	SubmittedAtMs      int64                 `json:"submitted_at_ms"`
	UpdatedAtMs        int64                 `json:"updated_at_ms"`
	StartedAtMs        int64                 `json:"started_at_ms,omitzero"`
	FinishedAtMs       int64                 `json:"finished_at_ms,omitzero"`
	QueuedPosition     int64                 `json:"queued_position,omitzero"` // from 1
	Request            RunRequestSummary     `json:"request"`
	Metadata           JSON                  `json:"metadata,omitzero"`
	PendingApprovalIDs []string              `json:"pending_approval_ids,omitempty"`
	PendingApprovals   []ApprovalRequest     `json:"pending_approvals,omitempty"`
	PendingQuestionIDs []string              `json:"pending_question_ids,omitempty"`
	PendingQuestions   []UserQuestionRequest `json:"pending_questions,omitempty"`
	WaitingOn          *WaitingOn            `json:"waiting_on,omitempty"` // of a parked run
	Resume             *Resume               `json:"resume,omitempty"`
	// Outputs has the newest MaxOutputsShown records, within MaxReplyBytes, when the run itself is
	// read. In lists and in replies to writes it is empty.
	Outputs []OutputRecord `json:"outputs"`
	// OutputsCount counts all records. OutputsTruncated is set when Outputs does not have all of
	// them.
	OutputsCount     int64  `json:"outputs_count"`
	OutputsTruncated bool   `json:"outputs_truncated,omitzero"`
	Output           JSON   `json:"output,omitzero"`  // of a completed run
	Error            string `json:"error,omitempty"`  // of a failed run
	Attempt          int64  `json:"attempt,omitzero"` // claims since the last suspension
	// FailedAttempts counts the handler's failed attempts that were retried. LastError is the
	// newest error, or the error of the failure that a person retried.
	FailedAttempts int64      `json:"failed_attempts,omitzero"`
	LastError      string     `json:"last_error,omitempty"`
	Lease          *LeaseView `json:"lease,omitempty"`
}

// SessionRunBody creates a run in the session that the path names.
type SessionRunBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	// RunID makes the call idempotent. The service generates one when it is absent.
	RunID *string `json:"run_id,omitzero"`
	Kind  RunKind `json:"kind,omitempty" body:"filled"` // KindInput when absent
	// Input is any value, including null. The worker receives it unchanged. Input or Content is
	// required; a nil Input is sent as null.
	Input JSON `json:"input"`
	// Content is an alias of Input for bodies that other programs write. Never set both.
	Content JSON    `json:"content,omitzero"`
	AgentID *string `json:"agent_id,omitzero"` // the session's when absent
	// Metadata is an object.
	Metadata     JSON   `json:"metadata,omitzero"`
	SourcePlugin string `json:"source_plugin,omitempty"` // DefaultSourcePlugin when empty
	SourceKind   string `json:"source_kind,omitempty"`   // DefaultSourceKind when empty
	ActorID      string `json:"actor_id,omitempty"`      // DefaultActorID when empty
}

// CreateRunBody creates a run, and its session when that does not exist.
type CreateRunBody struct {
	SessionRunBody
	SessionID *string `json:"session_id,omitzero"` // made by the service when absent
	// Session labels the run's session. Its members replace the session's; absent ones stay. A
	// repeated call does not change the session again.
	Session *SessionAbout `json:"session,omitzero"`
	// Claim takes the run's lease in the same transaction; the reply is then a [Claim].
	Claim *ClaimOptions `json:"claim,omitzero"`
	// Suspend raises requests in the same transaction.
	Suspend *Suspension `json:"suspend,omitzero"`
}

// ReasonBody is the body of cancel, interrupt and end. It may be absent.
type ReasonBody struct {
	Reason string `json:"reason,omitempty"`
}
