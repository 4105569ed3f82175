package api

// OutputRecord is a piece of output that a worker gave (decisions.md 37).
type OutputRecord struct {
	RunID       string `json:"run_id"`
	Content     string `json:"content"`
	Parts       []JSON `json:"parts,omitzero"`
	CreatedAtMs int64  `json:"created_at_ms"`
}

// RunRequestSummary says who asked for a run and how it begins.
type RunRequestSummary struct {
	SourcePlugin  string `json:"source_plugin"`
	SourceKind    string `json:"source_kind"`
	ActorID       string `json:"actor_id"`
	TextPreview   string `json:"text_preview,omitempty"`
	QuestionCount int64  `json:"question_count,omitzero"`
}

// Defaults of a run that came in by the API (kheish.md 1.2).
const (
	DefaultSourcePlugin = "daemon"
	DefaultSourceKind   = "api"
	DefaultActorID      = "api-user"
)

// LeaseView is a lease as everybody may see it. The fence belongs to its holder
// alone and is never shown.
type LeaseView struct {
	WorkerID    string `json:"worker_id"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// RunView is a run on the wire (kheish.md 1.2 and decision 13). Members without a
// value are omitted.
type RunView struct {
	RunID              string                `json:"run_id"`
	SessionID          string                `json:"session_id"`
	AgentID            string                `json:"agent_id"`
	ParentRunID        string                `json:"parent_run_id,omitempty"`
	Kind               RunKind               `json:"kind"`
	Status             Status                `json:"status"`
	SubmittedAtMs      int64                 `json:"submitted_at_ms"`
	UpdatedAtMs        int64                 `json:"updated_at_ms"`
	StartedAtMs        int64                 `json:"started_at_ms,omitzero"`
	FinishedAtMs       int64                 `json:"finished_at_ms,omitzero"`
	QueuedPosition     int64                 `json:"queued_position,omitzero"`
	Request            RunRequestSummary     `json:"request"`
	Metadata           JSON                  `json:"metadata,omitzero"`
	PendingApprovalIDs []string              `json:"pending_approval_ids,omitempty"`
	PendingApprovals   []ApprovalRequest     `json:"pending_approvals,omitempty"`
	PendingQuestionIDs []string              `json:"pending_question_ids,omitempty"`
	PendingQuestions   []UserQuestionRequest `json:"pending_questions,omitempty"`
	WaitingOn          *WaitingOn            `json:"waiting_on,omitempty"`
	Resume             *Resume               `json:"resume,omitempty"`
	Outputs            []OutputRecord        `json:"outputs,omitempty"`
	Output             JSON                  `json:"output,omitzero"`
	Error              string                `json:"error,omitempty"`
	Attempt            int64                 `json:"attempt,omitzero"`
	Lease              *LeaseView            `json:"lease,omitempty"`
}
