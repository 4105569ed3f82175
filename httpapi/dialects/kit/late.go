package kit

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Late says why a decision was too late.
type Late int

// The reasons. Each dialect has its own words for them.
const (
	// NotLate is any other error, or none.
	NotLate Late = iota
	// Settled: the request has a resolution, or its deadline has passed.
	Settled
	// RunOver: the run is terminal, or no longer waits for the request.
	RunOver
	// NoRequest: the request does not exist.
	NoRequest
	// NoRun: the run does not exist.
	NoRun
	// SessionOver: the session has ended or does not exist.
	SessionOver
)

// LateOf returns why the door refused a decision as too late.
func LateOf(err error) Late {
	switch refusal.CodeOf(err) {
	case api.CodeApprovalStateConflict, api.CodeApprovalNotPending, api.CodeQuestionStateConflict, api.CodeQuestionExpired,
		api.CodeQuestionRequestMismatch, api.CodeQuestionResolutionConflict:
		return Settled
	case api.CodeRunStateConflict:
		return RunOver
	case api.CodeRequestNotFound:
		return NoRequest
	case api.CodeRunNotFound:
		return NoRun
	case api.CodeSessionNotFound, api.CodeSessionEnded:
		return SessionOver
	}
	return NotLate
}

// Unfit reports whether the door refused a decision because of its content. The request stays open.
func Unfit(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeInvalidRequest, api.CodeQuestionAnswerMissing, api.CodeQuestionAnswerEmpty, api.CodeQuestionSingleSelect,
		api.CodeQuestionDuplicateAnswer, api.CodeQuestionDuplicateOption, api.CodeQuestionOptionNotFound,
		api.CodeQuestionUnknownAnswer, api.CodeQuestionDeclinedAnswers:
		return true
	}
	return false
}

// Denied reports whether the door refused a call because of its caller.
func Denied(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeInvalidToken, api.CodeForbidden, api.CodeRequesterExcluded:
		return true
	}
	return false
}

// RefusalOf returns the domain's refusal in an error, or nil.
func RefusalOf(err error) *refusal.Error {
	refused, _ := errors.AsType[*refusal.Error](err)
	return refused
}
