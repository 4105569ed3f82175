package model

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Clarification is the body of a request of [KindClarification], in the child's session.
type Clarification struct {
	Request   api.UserQuestionRequest `json:"request"`
	WaitingOn api.WaitingOn           `json:"waiting_on"`
	// Parked says that the child's run waits for the answer. When false, the run continues and
	// reads the answer from its session's mailbox.
	Parked bool `json:"parked"`
}

// Clarification returns the decoded body. Call it only on a request of [KindClarification].
func (r *Request) Clarification() Clarification {
	var clarification Clarification
	document.DecodeStored(r.Body, &clarification)
	return clarification
}

// Parked reports whether the request is a clarification for which its run waits
// (docs/spec/v1.md#parked).
func (r *Request) Parked() bool {
	return r.Kind == KindClarification && r.Clarification().Parked
}

// Unparked reports whether the request is a clarification for which its run does not wait. It
// is not the negation of Parked: neither holds for approvals and questions.
func (r *Request) Unparked() bool {
	return r.Kind == KindClarification && !r.Clarification().Parked
}

// Approval returns the decoded body, with the digest of its input even if the stored body has
// none. Call it only on a request of [KindApproval].
func (r *Request) Approval() api.ApprovalRequest {
	var approval api.ApprovalRequest
	document.DecodeStored(r.Body, &approval)
	if approval.InputDigest == "" {
		// Stored input is valid JSON, so Digest cannot fail.
		approval.InputDigest, _ = document.Digest(approval.Input)
	}
	return approval
}

// Question returns the decoded body, with the partial answers that are stored. Call it only on
// a request of [KindQuestion].
func (r *Request) Question() api.UserQuestionRequest {
	var question api.UserQuestionRequest
	document.DecodeStored(r.Body, &question)
	if r.PartialAnswers != nil {
		document.DecodeStored(r.PartialAnswers, &question.PartialAnswers)
	}
	return question
}

// escalated are the members of a body about its escalation.
type escalated struct {
	ExpiresAtMs int64           `json:"expires_at_ms"`
	Escalation  *api.Escalation `json:"escalation"`
}

func (r *Request) escalated() (body escalated) {
	document.DecodeStored(r.Body, &body)
	return body
}

// Escalation returns the escalation of an approval or a question, or nil.
func (r *Request) Escalation() *api.Escalation { return r.escalated().Escalation }

// ShownDeadlineMs returns the deadline in the body of an approval or a question, 0 for none. An open
// request whose escalation keeps it has no DueAtMs.
func (r *Request) ShownDeadlineMs() int64 { return r.escalated().ExpiresAtMs }

// Recorded returns the resolution. Call it only on a settled request.
func (r *Request) Recorded() api.Resolution {
	var resolution api.Resolution
	document.DecodeStored(r.Resolution, &resolution)
	return resolution
}

// RecordedDecision returns the decision that an error shows for a settled request, and nil while
// the request is open (docs/spec/v1.md#recorded-decision).
func (r *Request) RecordedDecision() *api.RecordedDecision {
	if r.Open() {
		return nil
	}
	resolution := r.Recorded()
	return &api.RecordedDecision{
		RequestID: r.RequestID, Outcome: r.Outcome,
		ResolvedBy: resolution.ResolvedBy, ResolvedAtMs: resolution.ResolvedAtMs, Via: resolution.Via, ViaPrincipal: resolution.ViaPrincipal,
	}
}

// RequesterOf returns the requester of a clarification; it is empty for other kinds of runs.
func (r *Run) RequesterOf() api.Requester {
	var requester api.Requester
	if r.Requester != nil {
		document.DecodeStored(r.Requester, &requester)
	}
	return requester
}
