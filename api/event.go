package api

// EventType is the type of an event in a session's log. Workers also append types of their own.
type EventType string

// Types that the service writes. Workers may also append output.
const (
	EventAccepted               EventType = "accepted"
	EventQueued                 EventType = "queued"
	EventStarted                EventType = "started"
	EventWaitingForApproval     EventType = "waiting_for_approval"
	EventApprovalResolved       EventType = "approval_resolved"
	EventWaitingForUserQuestion EventType = "waiting_for_user_question"
	EventUserQuestionResolved   EventType = "user_question_resolved"
	// EventUserQuestionAnswered: one of a request's questions was answered. The request waits for
	// the others.
	EventUserQuestionAnswered EventType = "user_question_answered"
	// EventParentClarificationRequested is written to the child's log, where user_question_resolved
	// reports the answer.
	EventParentClarificationRequested EventType = "parent_clarification_requested"
	// EventParentClarificationResolved is written to the parent's log in place of
	// user_question_resolved.
	EventParentClarificationResolved EventType = "parent_clarification_resolved"
	// EventGrantRedeemed: a worker is about to run the approved call.
	EventGrantRedeemed EventType = "grant_redeemed"
	EventOutput        EventType = "output"
	EventCompleted     EventType = "completed"
	EventFailed        EventType = "failed"
	EventInterrupted   EventType = "interrupted"
	EventCancelled     EventType = "cancelled"
	// EventRunRetried: a failed run was retried.
	EventRunRetried EventType = "run_retried"
	// EventRequestNotified: people are told of a request.
	EventRequestNotified EventType = "request_notified"
	// EventNotificationFailed: a message to a person was given up.
	EventNotificationFailed EventType = "notification_failed"
	// EventRequestAcknowledged: a person is looking at a request, or no longer is.
	EventRequestAcknowledged EventType = "request_acknowledged"
)

// RunEventEntry is an event in a session's log.
type RunEventEntry struct {
	// ID is the event's number in its session's log, as decimal text, from 1 without gaps.
	ID          string `json:"id"`
	TimestampMs int64  `json:"timestamp_ms"`
	RunID       string `json:"run_id"`
	SessionID   string `json:"session_id"`
	AgentID     string `json:"agent_id"`
	// Event is an object with a "type".
	Event JSON `json:"event"`
	// Actor is a principal, the name of the person who decided, or "system".
	Actor string `json:"actor,omitempty"`
	// BodyDigest, Prev and Hash chain the events of a session; see docs/audit.md. Events from
	// before the chain was introduced do not have them. Prev is "" in the first event of a chain.
	BodyDigest string  `json:"body_digest,omitempty"`
	Prev       *string `json:"prev,omitzero"`
	Hash       string  `json:"hash,omitempty"`
}

// AppendEventsBody appends a worker's events to the log of its session.
type AppendEventsBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	Fence          *string `json:"fence,omitzero" body:"required"`
	// Events are 1 to MaxEventsPerCall objects with a "type", of together at most
	// MaxEventBytesPerCall bytes. "output" also becomes an output record.
	Events []JSON `json:"events" body:"required"`
}

// AppendEventsReply is the reply to an [AppendEventsBody].
type AppendEventsReply struct {
	// LastEventID is the id of the last appended event.
	LastEventID string `json:"last_event_id"`
}
