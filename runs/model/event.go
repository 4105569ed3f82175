package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// AboutRequest reports whether an event of the type tells that a request was raised,
// has a part of its answer, or was settled. Whoever folds all of them knows what is
// open. What a child asks its parent is raised in the parent's session, so the
// child's parent_clarification_requested is not among them; the answer is told in the
// child's session too, as a request that was never open there.
func AboutRequest(t api.EventType) bool {
	return t == api.EventWaitingForApproval || t == api.EventApprovalResolved || t == api.EventWaitingForUserQuestion ||
		t == api.EventUserQuestionAnswered || t == api.EventUserQuestionResolved || t == api.EventParentClarificationResolved
}

// Event is one line of a session's log, as its row holds it.
type Event struct {
	SessionID string
	// EventID is the sequence number in the session, from 1, without gaps.
	EventID     int64
	RunID       string
	AgentID     string
	Type        api.EventType
	TimestampMs int64
	// Body is the event object with its "type".
	Body api.JSON
}
