package model

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/chain"
)

// AboutRequest reports whether an event of the type says that a request was raised, has a part
// of its answer, or was settled. From these events a reader knows what is open.
// parent_clarification_requested is not among them, because the question of a child is raised,
// and shown, in the parent's session; the answer appears in the child's session too, for a
// request that was never open there.
func AboutRequest(t api.EventType) bool {
	return t == api.EventWaitingForApproval || t == api.EventApprovalResolved || t == api.EventWaitingForUserQuestion ||
		t == api.EventUserQuestionAnswered || t == api.EventUserQuestionResolved || t == api.EventParentClarificationResolved
}

// Event is one entry of a session's log, as it is stored.
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
	// Actor is who caused it: who decided, or whose credential the call was made with, or
	// [api.ResolvedBySystem].
	Actor string
	// BodyDigest and Prev are those of a [chain.Link]. BodyDigest is "" for an event that was
	// written before there was a chain.
	BodyDigest string
	Prev       string
}

// DigestOfBody returns the digest of the body as it is now: that of the body before when it was
// redacted. It returns an error for a body that is no JSON object.
func (e *Event) DigestOfBody() (string, error) { return chain.BodyDigest(e.Body) }

// Hash returns the hash of the event in the chain of its session, "" for one that is in none.
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

// Output returns the output record of an output event. It returns an error when the body is
// not that of one: the row was changed outside of the service.
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
