package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// RequestKind says what a request asks for.
type RequestKind string

// The kinds of requests.
const (
	KindApproval RequestKind = "approval"
	KindQuestion RequestKind = "question"
	// KindClarification is a question to the parent's session. It is never settled in its own
	// session: the answer comes from the parent's session, or the run ends.
	KindClarification RequestKind = "clarification"
)

// Request is an approval, question or clarification raised by a run.
type Request struct {
	SessionID string
	RunID     string
	RequestID string // unique in its run
	Handle    string // unique among all requests (docs/spec/v1.md#handle)
	// SuspensionID and SuspensionDigest distinguish a repeated suspend call from a different one
	// with the same suspension id.
	SuspensionID     string
	SuspensionDigest string
	// Number counts the run's requests in the order they were raised, from 1.
	Number int64
	Kind   RequestKind
	// Body is the visible api.ApprovalRequest or api.UserQuestionRequest, or a Clarification.
	Body api.JSON
	// DueAtMs is the deadline of an open request, 0 without one. It is cleared on settling, so
	// the index has only requests that may still expire; the body keeps the deadline.
	DueAtMs     int64
	CreatedAtMs int64

	// Outcome is empty while the request is open.
	Outcome api.Outcome
	// SettledNumber is the position among the run's resolutions, from 1; 0 while open. Views of
	// one kind may skip numbers.
	SettledNumber int64
	// Resolution is the recorded api.Resolution; nil while open.
	Resolution  api.JSON
	SettledAtMs int64
	// ResolvedBy copies the resolution's member, so lists can filter by it. Empty while open.
	ResolvedBy string
	// RuleID is the rule that settled the request; empty if none did.
	RuleID string
	// PartialAnswers is a list of api.UserQuestionAnswer for some of the questions; nil without
	// any, and once settled.
	PartialAnswers api.JSON
	// Acknowledgement is a list of api.Acknowledgement, oldest first; nil without any, and once
	// settled. Some may have lapsed.
	Acknowledgement api.JSON
	// EscalationState is an EscalationState; nil without steps of an escalation and without a message, and once
	// settled.
	EscalationState api.JSON
	// Sealed is a SealedValues: the parts masked in Body, Resolution and PartialAnswers,
	// encrypted with the run's DataKey. Nil without sensitive values.
	Sealed api.JSON
	// Redemption is the grant's Redemption; nil before it, and without a grant.
	Redemption api.JSON
}

// Open reports whether the request is unsettled.
func (r *Request) Open() bool { return r.Outcome == "" }
