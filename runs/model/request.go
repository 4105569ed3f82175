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
	// KindClarification is a question to the parent's session. Nobody settles it in its own
	// session: the answer is delivered from the parent's, or the run ends.
	KindClarification RequestKind = "clarification"
)

// Request is one approval, question or clarification that a run raised.
type Request struct {
	SessionID string
	RunID     string
	RequestID string // unique in its run
	Handle    string // unique among all requests (docs/spec/v1.md#handle)
	// SuspensionID and SuspensionDigest tell a repeated suspend call from another one with the
	// same suspension id.
	SuspensionID     string
	SuspensionDigest string
	// Number counts the requests of the run in the order in which they were raised, from 1.
	Number int64
	Kind   RequestKind
	// Body is the api.ApprovalRequest or api.UserQuestionRequest as it is shown, or a
	// Clarification.
	Body api.JSON
	// DueAtMs is the deadline of an open request, 0 without one. It is cleared when the request
	// is settled, so that the index on it has only what may still expire; the body keeps the
	// deadline.
	DueAtMs     int64
	CreatedAtMs int64

	// Outcome is empty while the request is open.
	Outcome api.Outcome
	// SettledNumber is the place in the order of the run's resolutions, from 1; 0 while it is
	// open. Views of one kind may skip numbers.
	SettledNumber int64
	// Resolution is the recorded api.Resolution; nil while it is open.
	Resolution  api.JSON
	SettledAtMs int64
	// ResolvedBy is that of the resolution, by which a list of decisions is filtered. It is empty
	// while it is open.
	ResolvedBy string
	// RuleID names the rule that settled it; empty when none did.
	RuleID string
	// PartialAnswers is a list of api.UserQuestionAnswer for some of the questions; nil when
	// there are none, and once it is settled.
	PartialAnswers api.JSON
	// Sealed is a SealedValues: what Body, Resolution and PartialAnswers do not show, encrypted under
	// the DataKey of the run. Nil without anything sensitive.
	Sealed api.JSON
	// Redemption is a Redemption of the grant; nil until then, and for what is not an allowed
	// approval.
	Redemption api.JSON
}

// Open reports whether the request is not settled.
func (r *Request) Open() bool { return r.Outcome == "" }
