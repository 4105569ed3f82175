package api

// EventType names what an event of a session's log reports. Workers append types
// of their own besides these.
type EventType string

// The types that the service itself writes (kheish.md 1.2).
const (
	EventAccepted               EventType = "accepted"
	EventQueued                 EventType = "queued"
	EventStarted                EventType = "started"
	EventWaitingForApproval     EventType = "waiting_for_approval"
	EventApprovalResolved       EventType = "approval_resolved"
	EventWaitingForUserQuestion EventType = "waiting_for_user_question"
	EventUserQuestionResolved   EventType = "user_question_resolved"
	// EventUserQuestionAnswered: one of several questions of a request has its answer,
	// and the request waits for the others.
	EventUserQuestionAnswered EventType = "user_question_answered"
	// EventParentClarificationRequested is the child's; its answer is reported there
	// as user_question_resolved.
	EventParentClarificationRequested EventType = "parent_clarification_requested"
	// EventParentClarificationResolved is the parent's, in place of
	// user_question_resolved.
	EventParentClarificationResolved EventType = "parent_clarification_resolved"
	EventOutput                      EventType = "output"
	EventCompleted                   EventType = "completed"
	EventFailed                      EventType = "failed"
	EventInterrupted                 EventType = "interrupted"
	EventCancelled                   EventType = "cancelled"
)

// RunEventEntry is an event on the wire (decisions.md 4).
type RunEventEntry struct {
	ID          string `json:"id"`
	TimestampMs int64  `json:"timestamp_ms"`
	RunID       string `json:"run_id"`
	SessionID   string `json:"session_id"`
	AgentID     string `json:"agent_id"`
	Event       JSON   `json:"event"`
}
