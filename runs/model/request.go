package model

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

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

// SettledDocument returns a settled request as the worker that waits for it is
// handed it: a SettledApproval or a SettledQuestion, with its number. The numbers of
// what one worker is shown may have gaps, because a clarification that the run does
// not wait for has one as well.
func (r *Request) SettledDocument() api.JSON {
	if r.Kind == KindApproval {
		settled := r.settledApproval()
		settled.SettledNumber = r.SettledNumber
		return document.Encode(settled)
	}
	settled := r.settledQuestion()
	settled.SettledNumber = r.SettledNumber
	return document.Encode(settled)
}

func (r *Request) settledApproval() api.SettledApproval {
	return api.SettledApproval{Request: r.Approval(), Resolution: r.Recorded()}
}

func (r *Request) settledQuestion() api.SettledQuestion {
	question := r.Question()
	if r.Kind == KindClarification {
		question = r.Clarification().Request
	}
	return api.SettledQuestion{Request: question, Resolution: labelAnswers(question, r.Recorded())}
}
