package model

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Clarification is the body of a request of KindClarification.
type Clarification struct {
	Request   api.UserQuestionRequest `json:"request"`
	WaitingOn api.WaitingOn           `json:"waiting_on"`
	// Parked: the child's run waits for the answer. Otherwise it goes on and reads its
	// mailbox.
	Parked bool `json:"parked"`
}

// Clarification returns the body of a clarification's request in the child's
// session.
func (r *Request) Clarification() Clarification {
	var clarification Clarification
	document.DecodeStored(r.Body, &clarification)
	return clarification
}

// parked reports whether the run of this request waits for an answer from the
// parent's session.
func (r *Request) Parked() bool {
	return r.Kind == KindClarification && r.Clarification().Parked
}

// unparked reports whether the run of this request did not wait for its answer.
func (r *Request) Unparked() bool {
	return r.Kind == KindClarification && !r.Clarification().Parked
}

// Approval returns the body of an approval as it is shown.
func (r *Request) Approval() api.ApprovalRequest {
	var approval api.ApprovalRequest
	document.DecodeStored(r.Body, &approval)
	return approval
}

// Question returns the body of a question as it is shown, with what has been answered
// of it.
func (r *Request) Question() api.UserQuestionRequest {
	var question api.UserQuestionRequest
	document.DecodeStored(r.Body, &question)
	if r.PartialAnswers != nil {
		document.DecodeStored(r.PartialAnswers, &question.PartialAnswers)
	}
	return question
}

// Recorded returns the resolution of a settled request.
func (r *Request) Recorded() api.Resolution {
	var resolution api.Resolution
	document.DecodeStored(r.Resolution, &resolution)
	return resolution
}

func (r *Request) RecordedDecision() *api.RecordedDecision {
	if r.Open() {
		return nil
	}
	resolution := r.Recorded()
	return &api.RecordedDecision{
		RequestID: r.RequestID, Outcome: r.Outcome,
		ResolvedBy: resolution.ResolvedBy, ResolvedAtMs: resolution.ResolvedAtMs, Via: resolution.Via,
	}
}

// RequesterOf returns who asks a clarification; it is empty for other runs.
func (r *Run) RequesterOf() api.Requester {
	var requester api.Requester
	if r.Requester != nil {
		document.DecodeStored(r.Requester, &requester)
	}
	return requester
}
