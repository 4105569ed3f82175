package model

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/chain"
)

// AboutRequest reports whether events of this type say that a request was raised, acknowledged, partly
// answered or settled. Readers derive the open requests from them.
// parent_clarification_requested is excluded: the child's question is raised in the parent's
// session, and the child's session sees only the answer.
func AboutRequest(t api.EventType) bool {
	return t == api.EventWaitingForApproval || t == api.EventApprovalResolved || t == api.EventWaitingForUserQuestion ||
		t == api.EventUserQuestionAnswered || t == api.EventUserQuestionResolved || t == api.EventParentClarificationResolved ||
		t == api.EventRequestAcknowledged
}

// ByService reports whether only the service writes events of this type. Workers write outputs and all other types.
func ByService(t api.EventType) bool {
	switch t {
	case api.EventAccepted, api.EventQueued, api.EventStarted,
		api.EventWaitingForApproval, api.EventApprovalResolved, api.EventGrantRedeemed,
		api.EventWaitingForUserQuestion, api.EventUserQuestionResolved, api.EventUserQuestionAnswered,
		api.EventParentClarificationRequested, api.EventParentClarificationResolved,
		api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled, api.EventRunRetried,
		api.EventRequestNotified, api.EventNotificationFailed, api.EventRequestAcknowledged:
		return true
	case api.EventOutput:
	}
	return false
}

// Event is a stored entry of a session's log.
type Event struct {
	SessionID string
	// EventID is the number in the session, from 1, without gaps.
	EventID     int64
	RunID       string
	AgentID     string
	Type        api.EventType
	TimestampMs int64
	// Body is the event as a JSON object, with its "type".
	Body api.JSON
	// Actor is the decider, the principal of the call, or [api.ResolvedBySystem].
	Actor string
	// BodyDigest and Prev belong to the event's [chain.Link]. BodyDigest is "" for events
	// written before there was a chain.
	BodyDigest string
	Prev       string
}

// DigestOfBody returns the digest of the current body or, for a redacted event, of the original
// one. It returns an error for a body that is not a JSON object.
func (e *Event) DigestOfBody() (string, error) { return chain.BodyDigest(e.Body) }

// Hash returns the event's hash in its session's chain, or "" outside of a chain.
func (e *Event) Hash() string {
	if e.BodyDigest == "" {
		return ""
	}
	link := chain.Link{
		SessionID: e.SessionID, ID: strconv.FormatInt(e.EventID, 10), Type: string(e.Type), TimestampMs: e.TimestampMs,
		RunID: e.RunID, Actor: e.Actor, BodyDigest: e.BodyDigest, Prev: e.Prev,
	}
	return link.Hash()
}

// Output returns the output record of an output event. It returns an error for any other body:
// the row was changed outside of the service.
func (e *Event) Output() (api.OutputEntry, error) {
	record, err := OutputOf(e.Body)
	return api.OutputEntry{EventID: strconv.FormatInt(e.EventID, 10), OutputRecord: record}, err
}

// OutputOf returns the output record in the body of an output event. Errors: as
// [Event.Output].
func OutputOf(body []byte) (api.OutputRecord, error) {
	var event struct {
		Output api.OutputRecord `json:"output"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return api.OutputRecord{}, fmt.Errorf("output event: %w", err)
	}
	return event.Output, nil
}
