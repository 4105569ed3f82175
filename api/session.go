package api

// ActiveRunRef names a session's active run.
type ActiveRunRef struct {
	RunID string `json:"run_id"`
}

// SessionView is a session on the wire.
type SessionView struct {
	SessionID       string `json:"session_id"`
	AgentID         string `json:"agent_id"`
	ParentSessionID string `json:"parent_session_id,omitempty"`
	Metadata        JSON   `json:"metadata,omitzero"`
	// Label and Origin are as in [SessionAbout].
	Label     string         `json:"label,omitempty"`
	Origin    *SessionOrigin `json:"origin,omitempty"`
	Principal string         `json:"principal,omitempty"` // whose credential it was made with
	// Status is SessionIdle, SessionEnded, or the status of the active run.
	Status           Status                `json:"status"`
	ActiveRun        *ActiveRunRef         `json:"active_run"`
	QueuedRunIDs     []string              `json:"queued_run_ids"` // in the order of the queue
	PendingApprovals []ApprovalRequest     `json:"pending_approvals"`
	PendingQuestions []PendingQuestionView `json:"pending_questions"` // at most MaxClarificationsShown of clarifications
	PendingCount     int                   `json:"pending_count"`
	// Outputs has the newest MaxOutputsShown records of all runs, within MaxReplyBytes, when the
	// session itself is read. In replies to writes it is empty.
	Outputs []OutputRecord `json:"outputs"`
	// OutputsCount counts the records of all runs, in replies to writes as well.
	OutputsCount     int64  `json:"outputs_count"`
	OutputsTruncated bool   `json:"outputs_truncated,omitzero"` // Outputs has not all
	LastEventID      string `json:"last_event_id"`              // decimal text; "0" before the first
	CreatedAtMs      int64  `json:"created_at_ms"`
	UpdatedAtMs      int64  `json:"updated_at_ms"`
	// Snapshot repeats members for clients that know sessions as running agents.
	Snapshot SessionSnapshot `json:"snapshot"`
}

// SessionSummaryView is a session in a list.
type SessionSummaryView struct {
	SessionID       string `json:"session_id"`
	AgentID         string `json:"agent_id"`
	ParentSessionID string `json:"parent_session_id,omitempty"`
	// Label and Origin are as in [SessionAbout].
	Label            string         `json:"label,omitempty"`
	Origin           *SessionOrigin `json:"origin,omitempty"`
	Status           Status         `json:"status"`
	PendingApprovals int            `json:"pending_approvals"` // a count
	PendingQuestions int            `json:"pending_questions"` // a count
	CreatedAtMs      int64          `json:"created_at_ms"`
	UpdatedAtMs      int64          `json:"updated_at_ms"`
}

// SessionAbout is how people recognise a session. It is what the caller says, and only shown.
type SessionAbout struct {
	_     struct{} `body:"closed"`
	Label string   `json:"label,omitempty"` // at most MaxLabelLength characters
	// Origin is where the agent works.
	Origin *SessionOrigin `json:"origin,omitempty"`
}

// SessionOrigin is where an agent works. Members may be empty.
type SessionOrigin struct {
	_         struct{} `body:"closed"`
	Project   string   `json:"project,omitempty"`   // at most MaxNameLength bytes
	Directory string   `json:"directory,omitempty"` // at most MaxDirectoryLength bytes
	Host      string   `json:"host,omitempty"`      // at most MaxNameLength bytes
}

// AmendSessionBody changes a session. At least one member is required.
type AmendSessionBody struct {
	// Metadata is merged into the session's: null removes a member, any other value replaces it.
	Metadata JSON `json:"metadata,omitzero"`
	// Label replaces the session's label; an empty one removes it.
	Label *string `json:"label,omitzero"`
	// Origin replaces the session's origin as a whole; an empty one removes it.
	Origin *SessionOrigin `json:"origin,omitzero"`
}

// CreateSessionBody creates a session, or returns the existing one with that id. The body may be
// absent.
type CreateSessionBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	SessionID      *string `json:"session_id,omitzero"` // made by the service when absent
	AgentID        *string `json:"agent_id,omitzero"`
	// ParentSessionID is the session that answers this session's clarifications.
	ParentSessionID *string `json:"parent_session_id,omitzero"`
	// Metadata is an object.
	Metadata JSON `json:"metadata,omitzero"`
}

// InterruptReply is the reply of interrupt.
type InterruptReply struct {
	// Interrupted is false when there was nothing to interrupt.
	Interrupted bool        `json:"interrupted"`
	Session     SessionView `json:"session"`
	// Snapshot repeats members of Session.
	Snapshot SessionSnapshot `json:"snapshot"`
}
