package kheish_test

// The types with which Kheish's clients decode replies: required members and known values. They
// follow its documents. A pointer is an Option.

type agentStatus string

func (agentStatus) variants() string {
	return "idle running waiting_for_approval waiting_for_user_input failed completed"
}

type runStatus string

func (runStatus) variants() string {
	return "queued running waiting_for_approval waiting_for_user_question completed failed interrupted cancelled"
}

type runKind string

func (runKind) variants() string {
	return "input goal_continuation scheduled_input observation_materialization scheduled_observation_materialization " +
		"mailbox_delivery channel_delivery parent_clarification approval_resume user_question_resume"
}

type behavior string

func (behavior) variants() string { return "allow deny" }

type (
	gapReason string
	gapScope  string
	mode      string
	level     string
)

func (gapReason) variants() string { return "replay_window restart_epoch live_lag" }
func (gapScope) variants() string  { return "global session run" }
func (mode) variants() string {
	return "default acceptEdits bypassPermissions plan dontAsk"
}
func (level) variants() string { return "off on redacted full" }

// contentPart is a closed enum, and our workers produce none of its values.
type contentPart string

func (contentPart) variants() string { return "" }

type approvalRequest struct {
	ID         string `serde:"id"`
	ToolCallID string `serde:"tool_call_id"`
	ToolName   string `serde:"tool_name"`
	Input      any    `serde:"input"`
	Scope      string `serde:"scope"`
	Reason     string `serde:"reason"`
}

type approvalResolution struct {
	RequestID     string   `serde:"request_id"`
	Behavior      behavior `serde:"behavior"`
	Justification *string  `serde:"justification"`
	Reason        *string  `serde:"reason"`
}

type questionRequest struct {
	ID         string `serde:"id"`
	ToolCallID string `serde:"tool_call_id"`
	Questions  []struct {
		ID       string `serde:"id"`
		Header   string `serde:"header"`
		Question string `serde:"question"`
		Options  []struct {
			ID          string  `serde:"id"`
			Label       string  `serde:"label"`
			Description *string `serde:"description"`
			Preview     *string `serde:"preview"`
		} `serde:"options"`
		MultiSelect bool `serde:"multi_select,default"`
	} `serde:"questions"`
	CreatedAtMs uint64  `serde:"created_at_ms,default"`
	ExpiresAtMs *uint64 `serde:"expires_at_ms"`
}

type questionResolution struct {
	RequestID string `serde:"request_id"`
	Answers   []struct {
		QuestionID string   `serde:"question_id"`
		Selected   []string `serde:"selected_option_ids,default"`
		Freeform   *string  `serde:"freeform_answer"`
	} `serde:"answers,default"`
	Declined      bool    `serde:"declined,default"`
	Justification *string `serde:"justification"`
}

type outputRecord struct {
	SessionID string        `serde:"session_id"`
	RunID     *string       `serde:"run_id"`
	Content   string        `serde:"content"`
	Parts     []contentPart `serde:"parts,default"`
	Plugin    *string       `serde:"plugin"`
	Address   *string       `serde:"address"`
}

type runView struct {
	RunID          string    `serde:"run_id"`
	SessionID      string    `serde:"session_id"`
	AgentID        string    `serde:"agent_id"`
	Kind           runKind   `serde:"kind"`
	Status         runStatus `serde:"status"`
	SubmittedAtMs  uint64    `serde:"submitted_at_ms"`
	UpdatedAtMs    uint64    `serde:"updated_at_ms"`
	StartedAtMs    *uint64   `serde:"started_at_ms"`
	FinishedAtMs   *uint64   `serde:"finished_at_ms"`
	QueuedPosition *uint64   `serde:"queued_position"`
	Request        struct {
		SourcePlugin  string  `serde:"source_plugin"`
		SourceKind    string  `serde:"source_kind"`
		ActorID       string  `serde:"actor_id"`
		TextPreview   *string `serde:"text_preview"`
		QuestionCount *uint64 `serde:"question_count"`
	} `serde:"request"`
	PendingApprovalIDs []string          `serde:"pending_approval_ids,default"`
	PendingApprovals   []approvalRequest `serde:"pending_approvals,default"`
	PendingQuestionIDs []string          `serde:"pending_question_ids,default"`
	PendingQuestions   []questionRequest `serde:"pending_questions,default"`
	Outputs            []outputRecord    `serde:"outputs,default"`
	Error              *string           `serde:"error"`
}

type agentSnapshot struct {
	Agent struct {
		ID           string  `serde:"id"`
		Parent       *string `serde:"parent"`
		Conversation struct {
			SessionID string  `serde:"session_id"`
			ThreadID  *string `serde:"thread_id"`
		} `serde:"conversation"`
		Status      agentStatus `serde:"status"`
		SpawnedAtMs uint64      `serde:"spawned_at_ms,default"`
		Subtasks    []any       `serde:"subtasks"`
	} `serde:"agent"`
	PendingApprovals     []approvalRequest `serde:"pending_approvals"`
	PendingQuestions     []questionRequest `serde:"pending_questions,default"`
	LastAssistantMessage *string           `serde:"last_assistant_message"`
	JournalLen           uint64            `serde:"journal_len"`
	CheckpointLen        uint64            `serde:"checkpoint_len"`
	LastError            *string           `serde:"last_error"`
}

type sessionView struct {
	SessionID string         `serde:"session_id"`
	AgentID   string         `serde:"agent_id"`
	Snapshot  agentSnapshot  `serde:"snapshot"`
	Outputs   []outputRecord `serde:"outputs"`
}

type sessionSummary struct {
	SessionID        string      `serde:"session_id"`
	AgentID          string      `serde:"agent_id"`
	Status           agentStatus `serde:"status"`
	PendingApprovals uint64      `serde:"pending_approvals"`
	PendingQuestions uint64      `serde:"pending_questions,default"`
}

type pendingQuestion struct {
	SessionID          string          `serde:"session_id"`
	AgentID            string          `serde:"agent_id"`
	RunID              *string         `serde:"run_id"`
	RunKind            *runKind        `serde:"run_kind"`
	RequesterAgentID   *string         `serde:"requester_agent_id"`
	RequesterSessionID *string         `serde:"requester_session_id"`
	Request            questionRequest `serde:"request"`
}

type page[T any] struct {
	Items      []T `serde:"items"`
	Pagination struct {
		Limit      uint64  `serde:"limit"`
		TotalCount uint64  `serde:"total_count,default"`
		HasMore    bool    `serde:"has_more"`
		NextCursor *string `serde:"next_cursor"`
		Order      string  `serde:"order"`
	} `serde:"pagination"`
}

type interrupted struct {
	Interrupted bool          `serde:"interrupted"`
	Snapshot    agentSnapshot `serde:"snapshot"`
}

type runEvent struct{}

func (runEvent) tagged() map[string]any {
	return map[string]any{
		"accepted": struct{}{}, "started": struct{}{}, "completed": struct{}{}, "interrupted": struct{}{}, "cancelled": struct{}{},
		"queued": struct {
			Position uint64 `serde:"position"`
		}{},
		"waiting_for_approval": struct {
			IDs      []string          `serde:"request_ids"`
			Requests []approvalRequest `serde:"requests,default"`
		}{},
		"approval_resolved": struct {
			Resolutions []approvalResolution `serde:"resolutions"`
		}{},
		"waiting_for_user_question": struct {
			IDs      []string          `serde:"request_ids"`
			Requests []questionRequest `serde:"requests,default"`
		}{},
		"user_question_resolved": struct {
			Resolution questionResolution `serde:"resolution"`
		}{},
		"parent_clarification_resolved": struct {
			AgentID    string             `serde:"requester_agent_id"`
			SessionID  string             `serde:"requester_session_id"`
			RequestID  string             `serde:"request_id"`
			Declined   bool               `serde:"declined"`
			Resolution questionResolution `serde:"resolution"`
		}{},
		"output": struct {
			Output outputRecord `serde:"output"`
		}{},
		"failed": struct {
			Error string `serde:"error"`
		}{},
	}
}

type runEventEntry struct {
	TimestampMs uint64   `serde:"timestamp_ms"`
	RunID       string   `serde:"run_id"`
	SessionID   string   `serde:"session_id"`
	AgentID     string   `serde:"agent_id"`
	Event       runEvent `serde:"event"`
}

type sessionEventLog struct {
	Session       sessionView     `serde:"session"`
	DaemonOutputs []outputRecord  `serde:"daemon_outputs"`
	RunEvents     []runEventEntry `serde:"run_events"`
}

type daemonEvent struct{}

func (daemonEvent) tagged() map[string]any {
	return map[string]any{
		"heartbeat": struct{}{},
		"session_snapshot": struct {
			SessionID string        `serde:"session_id"`
			Snapshot  agentSnapshot `serde:"snapshot"`
		}{},
		"output": struct {
			Output outputRecord `serde:"output"`
		}{},
		"run_updated": struct {
			Run runView `serde:"run"`
		}{},
		"interrupted": struct {
			SessionID string `serde:"session_id"`
			AgentID   string `serde:"agent_id"`
		}{},
		"stream_gap": struct {
			Skipped  uint64    `serde:"skipped"`
			ResumeID *string   `serde:"resume_after_id"`
			Reason   gapReason `serde:"reason,default"`
			Scope    gapScope  `serde:"scope,default"`
			Estimate bool      `serde:"skipped_is_estimate,default"`
		}{},
	}
}

type capabilities struct {
	Version               string `serde:"control_plane_version"`
	Approvals             bool   `serde:"approvals"`
	Sidechains            bool   `serde:"sidechains"`
	Mailboxes             bool   `serde:"mailboxes"`
	SessionEvents         bool   `serde:"session_events"`
	RestartRestore        bool   `serde:"restart_restore"`
	LiveEvents            bool   `serde:"live_events"`
	SessionRunIdempotency bool   `serde:"session_run_idempotency,default"`
}

type runtimeSettings struct {
	Provider     *string  `serde:"provider"`
	Model        *string  `serde:"model"`
	Routes       []any    `serde:"routes,default"`
	Mode         mode     `serde:"permission_mode"`
	SystemPrompt struct{} `serde:"system_prompt"`
	DebugLevel   level    `serde:"debug_level"`
}

type problem struct {
	Type   string  `serde:"type"`
	Title  string  `serde:"title"`
	Status uint64  `serde:"status"`
	Detail string  `serde:"detail"`
	Code   string  `serde:"code"`
	Domain *string `serde:"domain"`
}
