package kit

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Late says why a decision found nothing to decide.
type Late int

// The reasons. A dialect has words of its own for each.
const (
	// NotLate is any other error, and none.
	NotLate Late = iota
	// Settled: the request has its resolution, or its deadline has passed.
	Settled
	// RunOver: the run is terminal, or no longer waits for the request.
	RunOver
	// NoRequest: there is no such request.
	NoRequest
	// NoRun: there is no such run.
	NoRun
	// SessionOver: the session has ended, or there is none.
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

// Unfit reports whether the door refused a decision because of its content: the request
// stays open.
func Unfit(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeInvalidRequest, api.CodeQuestionAnswerMissing, api.CodeQuestionAnswerEmpty, api.CodeQuestionSingleSelect,
		api.CodeQuestionDuplicateAnswer, api.CodeQuestionDuplicateOption, api.CodeQuestionOptionNotFound,
		api.CodeQuestionUnknownAnswer, api.CodeQuestionDeclinedAnswers:
		return true
	}
	return false
}

// Denied reports whether the door refused a call because of who made it.
func Denied(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeInvalidToken, api.CodeForbidden, api.CodeRequesterExcluded:
		return true
	}
	return false
}

// RefusalOf returns the domain's refusal that an error is, or nil.
func RefusalOf(err error) *refusal.Error {
	var refused *refusal.Error
	_ = errors.As(err, &refused)
	return refused
}
