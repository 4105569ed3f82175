package api

// SessionSnapshot is a session as an agent with its open prompts, for clients that model sessions
// as running agents. It repeats members of [SessionView]. Members that the service does not know
// are null, 0 or empty.
type SessionSnapshot struct {
	Agent  SnapshotAgent `json:"agent"`
	Status Status        `json:"status"` // the status of the SessionView
	// ActiveRunID is null without an active run.
	ActiveRunID          *string               `json:"active_run_id"`
	QueuedRunIDs         []string              `json:"queued_run_ids"`
	PendingApprovals     []ApprovalRequest     `json:"pending_approvals"`
	PendingQuestions     []UserQuestionRequest `json:"pending_questions"`
	LastAssistantMessage *string               `json:"last_assistant_message"`
	JournalLen           int                   `json:"journal_len"`
	CheckpointLen        int                   `json:"checkpoint_len"`
	LastError            *string               `json:"last_error"`
}

// SnapshotAgent is the agent of a [SessionSnapshot].
type SnapshotAgent struct {
	ID           string               `json:"id"`
	Parent       *string              `json:"parent"`
	Conversation SnapshotConversation `json:"conversation"`
	Status       AgentStatus          `json:"status"`
	SpawnedAtMs  int64                `json:"spawned_at_ms"`
	Subtasks     []JSON               `json:"subtasks"`
}

// SnapshotConversation names the session of a [SnapshotAgent].
type SnapshotConversation struct {
	SessionID string `json:"session_id"`
	ThreadID  string `json:"thread_id"` // the session's id
}

// AgentStatus is the status of a session as an agent's status.
type AgentStatus string

// Statuses of agents.
const (
	AgentIdle                AgentStatus = "idle"
	AgentRunning             AgentStatus = "running"
	AgentWaitingForApproval  AgentStatus = "waiting_for_approval"
	AgentWaitingForUserInput AgentStatus = "waiting_for_user_input"
	AgentCompleted           AgentStatus = "completed"
)
