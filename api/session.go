package api

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

// SessionSummaryView is a session in a list on the wire.
type SessionSummaryView struct {
	SessionID        string `json:"session_id"`
	AgentID          string `json:"agent_id"`
	ParentSessionID  string `json:"parent_session_id,omitempty"`
	Status           Status `json:"status"`
	PendingApprovals int    `json:"pending_approvals"`
	PendingQuestions int    `json:"pending_questions"`
	CreatedAtMs      int64  `json:"created_at_ms"`
	UpdatedAtMs      int64  `json:"updated_at_ms"`
}
