package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// RequestKind says what a request asks a person for.
type RequestKind string

// The kinds of requests.
const (
	KindApproval RequestKind = "approval"
	KindQuestion RequestKind = "question"
	// KindClarification is a question that the run asks its parent's session. Nobody
	// settles it here: the answer comes from there, or the run ends.
	KindClarification RequestKind = "clarification"
)

// Request is one row of what a run asked for.
type Request struct {
	SessionID string
	RunID     string
	RequestID string // unique in its run
	Handle    string // unique everywhere
	// SuspensionID and SuspensionDigest tell a repeated suspend call from another
	// one that uses the same suspension id.
	SuspensionID     string
	SuspensionDigest string
	// Number counts the requests of the run in the order in which they were raised.
	Number int64
	Kind   RequestKind
	// Body is the ApprovalRequest or the UserQuestionRequest as it is shown, or the
	// Clarification.
	Body api.JSON
	// DueAtMs is the deadline of an open request, 0 when it has none. It is
	// cleared when the request is settled, so that an index on it holds only what
	// may still expire; the deadline that was set stays in the body.
	DueAtMs     int64
	CreatedAtMs int64

	// Outcome is empty while the request is open.
	Outcome api.Outcome
	// SettledNumber is its place in the order of the run's decisions, from 1; 0
	// while it is open.
	SettledNumber int64
	// Resolution is the Resolution as it was recorded; nil while it is open.
	Resolution  api.JSON
	SettledAtMs int64
	// RuleID names the rule that settled it; empty when none did.
	RuleID string
	// PartialAnswers holds answers to some of the questions, a list of
	// UserQuestionAnswer; nil when there are none, and once it is settled.
	PartialAnswers api.JSON
}

// Open reports whether nothing has been decided about the request.
func (r *Request) Open() bool { return r.Outcome == "" }
