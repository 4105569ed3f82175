package runs

import "strconv"

// RunRecord is a run together with those of its requests that its view needs:
// the open ones and those of its Resume, both in the order of Request.Number.
type RunRecord struct {
	Run      Run
	Requests []Request
	// Outputs holds the newest output records, oldest first. It is filled by reads
	// only; a command's reply leaves it empty when Run.OutputCount says that there
	// are some.
	Outputs []OutputRecord
}

// SessionRecord is a session together with what its view needs.
type SessionRecord struct {
	Session Session
	// Active is the run that holds the slot, nil while the session is idle.
	Active *RunRecord
	// Clarifications are the questions of waiting parent clarifications, in the order
	// of (run_id, request_id); at most MaxClarificationsShown.
	Clarifications []PendingRequest
	// QueuedRunIDs are in the order in which the runs will go.
	QueuedRunIDs []string
	// Outputs holds the newest output records of all the session's runs, oldest
	// first.
	Outputs []OutputRecord
}

// MaxOutputsShown bounds the output records in a view; all of them are in the
// events.
const MaxOutputsShown = 100

// MaxClarificationsShown bounds the clarifications in a session's view; all of them
// are in the lists of questions.
const MaxClarificationsShown = 100

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

// ActiveRunRef names a session's active run.
type ActiveRunRef struct {
	RunID string `json:"run_id"`
}

// SessionView is a session on the wire (kheish.md, decision 12).
type SessionView struct {
	SessionID        string                `json:"session_id"`
	AgentID          string                `json:"agent_id"`
	ParentSessionID  string                `json:"parent_session_id,omitempty"`
	Metadata         JSON                  `json:"metadata,omitzero"`
	Status           Status                `json:"status"`
	ActiveRun        *ActiveRunRef         `json:"active_run"`
	QueuedRunIDs     []string              `json:"queued_run_ids"`
	PendingApprovals []ApprovalRequest     `json:"pending_approvals"`
	PendingQuestions []PendingQuestionView `json:"pending_questions"`
	PendingCount     int                   `json:"pending_count"`
	Outputs          []OutputRecord        `json:"outputs"`
	LastEventID      string                `json:"last_event_id"`
	CreatedAtMs      int64                 `json:"created_at_ms"`
	UpdatedAtMs      int64                 `json:"updated_at_ms"`
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

// Claim is what a worker is handed with a run (v1-work.md "Work").
type Claim struct {
	Run        RunView      `json:"run"`
	Input      JSON         `json:"input"`
	Checkpoint JSON         `json:"checkpoint,omitzero"`
	Resume     *Resume      `json:"resume,omitempty"`
	Attempt    int64        `json:"attempt"`
	Lease      ClaimedLease `json:"lease"`
}

// ClaimedLease is a lease as its holder sees it.
type ClaimedLease struct {
	// Fence is the decimal text of the run's claim number; every later call of the
	// holder shows it.
	Fence       string `json:"fence"`
	WorkerID    string `json:"worker_id"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// Resume is what a run goes on with: everything that was settled since it was
// suspended.
type Resume struct {
	SuspensionID string            `json:"suspension_id"`
	Approvals    []SettledApproval `json:"approvals"`
	Questions    []SettledQuestion `json:"questions"`
	// Clarification is the answer from the parent's session, when the run was parked
	// for one.
	Clarification *ClarificationAnswer `json:"clarification,omitempty"`
}

// SettledApproval is an approval and what was decided about it.
type SettledApproval struct {
	Request    ApprovalRequest `json:"request"`
	Resolution Resolution      `json:"resolution"`
	// SettledNumber is its place in the order of the run's decisions. It is given to an
	// attached worker only, who says by it what a checkpoint has taken in.
	SettledNumber int64 `json:"settled_number,omitzero,string"`
}

// SettledQuestion is a question and its answer.
type SettledQuestion struct {
	Request       UserQuestionRequest `json:"request"`
	Resolution    AnswerForWorker     `json:"resolution"`
	SettledNumber int64               `json:"settled_number,omitzero,string"` // see SettledApproval
}

// AnswerForWorker is the answer to a question in the form that a worker hands to
// its model (kheish.md 1.6): labelled, and summed up in a text.
type AnswerForWorker struct {
	RequestID     string           `json:"request_id"`
	Outcome       Outcome          `json:"outcome"`
	Declined      bool             `json:"declined"`
	Summary       string           `json:"summary"`
	Answers       []LabelledAnswer `json:"answers"`
	Value         JSON             `json:"value,omitzero"`
	Justification *string          `json:"justification"`
	Reason        string           `json:"reason,omitempty"`
	ResolvedBy    string           `json:"resolved_by"`
	ResolvedAtMs  int64            `json:"resolved_at_ms"`
	Via           string           `json:"via"`
	// RuntimePayload is what a dialect owes the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
}

// LabelledAnswer is the answer to one structured question with the words that the
// person saw.
type LabelledAnswer struct {
	QuestionID        string           `json:"question_id"`
	Header            string           `json:"header"`
	Question          string           `json:"question"`
	SelectedOptionIDs []string         `json:"selected_option_ids"`
	SelectedOptions   []QuestionOption `json:"selected_options"`
	FreeformAnswer    string           `json:"freeform_answer,omitempty"`
}

// Settled is the reply of an attached wait (v1-work.md "Attached waiting").
type Settled struct {
	// After is the cursor to ask with the next time, in decimal.
	After string `json:"after"`
	// Settled holds SettledApproval and SettledQuestion documents in the order of
	// the decisions.
	Settled         []JSON `json:"settled"`
	Open            int    `json:"open"`
	CancelRequested bool   `json:"cancel_requested"`
}

// FenceText returns a fence as the wire shows it.
func FenceText(fence int64) string { return strconv.FormatInt(fence, 10) }
