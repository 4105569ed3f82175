package refusal

import (
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
)

// Error is every refusal of the domain. Two Errors are the same to [errors.Is]
// when they have the same code.
type Error struct {
	Code   api.Code
	Detail string
	// Faults is set for invalid_request.
	Faults []api.Fault
	// Recorded is set when the call was about something already settled.
	Recorded *api.RecordedDecision
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// Is reports whether the target is an Error of the same code.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// ErrorCode returns the code of an [Error] anywhere in the chain, or "" when there
// is none, which means that the failure is not the caller's.
func CodeOf(err error) api.Code {
	var domain *Error
	if errors.As(err, &domain) {
		return domain.Code
	}
	return ""
}

// New returns an [Error] with a code and a formatted detail.
func New(code api.Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns an invalid_request error that names the members at fault.
func Invalid(faults ...api.Fault) *Error {
	detail := "the request does not fit its schema"
	if len(faults) > 0 && faults[0].Pointer != "" {
		detail = faults[0].Pointer + ": " + faults[0].Detail
	} else if len(faults) > 0 {
		detail = faults[0].Detail
	}
	return &Error{Code: api.CodeInvalidRequest, Detail: detail, Faults: faults}
}

// UnknownSession is the error of a call that names a session that is not there.
func UnknownSession(sessionID string) *Error {
	return New(api.CodeSessionNotFound, "unknown session %s", sessionID)
}

// UnknownRun is the error of a call that names a run that is not there.
func UnknownRun(runID string) *Error {
	return New(api.CodeRunNotFound, "unknown run %s", runID)
}

func (e *Error) With(recorded *api.RecordedDecision) *Error {
	e.Recorded = recorded
	return e
}

// UnknownRule is the error of a call that names a rule that is not there.
func UnknownRule(ruleID string) *Error {
	return New(api.CodeRuleNotFound, "unknown rule %s", ruleID)
}
