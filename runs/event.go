package runs

import "strconv"

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

// AboutRequest reports whether an event of the type tells that a request was raised,
// has a part of its answer, or was settled. Whoever folds all of them knows what is
// open. What a child asks its parent is raised in the parent's session, so the
// child's parent_clarification_requested is not among them; the answer is told in the
// child's session too, as a request that was never open there.
func AboutRequest(t EventType) bool {
	return t == EventWaitingForApproval || t == EventApprovalResolved || t == EventWaitingForUserQuestion ||
		t == EventUserQuestionAnswered || t == EventUserQuestionResolved || t == EventParentClarificationResolved
}

// Event is one line of a session's log, as its row holds it.
type Event struct {
	SessionID string
	// EventID is the sequence number in the session, from 1, without gaps.
	EventID     int64
	RunID       string
	AgentID     string
	Type        EventType
	TimestampMs int64
	// Body is the event object with its "type".
	Body JSON
}

// RunEventEntry is an event on the wire (decisions.md 4).
type RunEventEntry struct {
	ID          string `json:"id"`
	TimestampMs int64  `json:"timestamp_ms"`
	RunID       string `json:"run_id"`
	SessionID   string `json:"session_id"`
	AgentID     string `json:"agent_id"`
	Event       JSON   `json:"event"`
}

// Entry returns the event as the wire shows it.
func (e *Event) Entry() RunEventEntry {
	return RunEventEntry{
		ID: strconv.FormatInt(e.EventID, 10), TimestampMs: e.TimestampMs,
		RunID: e.RunID, SessionID: e.SessionID, AgentID: e.AgentID, Event: e.Body,
	}
}

// OutputRecord is a piece of output that a worker gave (decisions.md 37).
type OutputRecord struct {
	RunID       string `json:"run_id"`
	Content     string `json:"content"`
	Parts       []JSON `json:"parts,omitzero"`
	CreatedAtMs int64  `json:"created_at_ms"`
}
