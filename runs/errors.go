package runs

import (
	"errors"
	"fmt"
)

// Code is the stable name of an error (kheish.md 1.3 and its decisions). A code
// belongs to one domain and one HTTP status; the latter is the business of those
// who speak HTTP.
type Code string

// The codes that the domain itself returns.
const (
	CodeBadRequest                 Code = "bad_request"
	CodeInvalidRequest             Code = "invalid_request"
	CodeSessionNotFound            Code = "session_not_found"
	CodeSessionBusy                Code = "session_busy"
	CodeSessionEnded               Code = "session_ended"
	CodeRunNotFound                Code = "run_not_found"
	CodeRunStateConflict           Code = "run_state_conflict"
	CodeRunNotClaimable            Code = "run_not_claimable"
	CodeLeaseLost                  Code = "lease_lost"
	CodeIDConflict                 Code = "id_conflict"
	CodeNoParentSession            Code = "no_parent_session"
	CodeMessageNotFound            Code = "message_not_found"
	CodeEffectNotFound             Code = "effect_not_found"
	CodeRequestNotFound            Code = "request_not_found"
	CodeRuleNotFound               Code = "rule_not_found"
	CodeApprovalStateConflict      Code = "approval_state_conflict"
	CodeApprovalBatchEmpty         Code = "approval_batch_empty"
	CodeApprovalDuplicate          Code = "approval_duplicate_resolution"
	CodeApprovalNotPending         Code = "approval_request_not_pending"
	CodeQuestionStateConflict      Code = "question_state_conflict"
	CodeQuestionExpired            Code = "question_expired"
	CodeQuestionResolutionConflict Code = "question_resolution_conflict"
	CodeQuestionRequestMismatch    Code = "question_request_mismatch"
	CodeQuestionDeclinedAnswers    Code = "question_declined_with_answers"
	CodeQuestionDuplicateAnswer    Code = "question_duplicate_answer"
	CodeQuestionAnswerMissing      Code = "question_answer_missing"
	CodeQuestionSingleSelect       Code = "question_single_select_violation"
	CodeQuestionDuplicateOption    Code = "question_duplicate_option"
	CodeQuestionOptionNotFound     Code = "question_option_not_found"
	CodeQuestionAnswerEmpty        Code = "question_answer_empty"
	CodeQuestionUnknownAnswer      Code = "question_unknown_answer"
	CodeInvalidIdempotencyKey      Code = "invalid_idempotency_key"
	CodeIdempotencyConflict        Code = "idempotency_conflict"
	CodeInvalidLimit               Code = "invalid_limit"
	CodeInvalidCursor              Code = "invalid_cursor"
	CodeInvalidEventCursor         Code = "invalid_event_cursor"
)

// Fault names one member of a body and what is wrong with it.
type Fault struct {
	// Pointer is the RFC 6901 JSON pointer of the member.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error is every refusal of the domain. Two Errors are the same to [errors.Is]
// when they have the same code.
type Error struct {
	Code   Code
	Detail string
	// Faults is set for invalid_request.
	Faults []Fault
	// Recorded is set when the call was about something already settled.
	Recorded *RecordedDecision
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// Is reports whether the target is an Error of the same code.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// ErrorCode returns the code of an [Error] anywhere in the chain, or "" when there
// is none, which means that the failure is not the caller's.
func ErrorCode(err error) Code {
	var domain *Error
	if errors.As(err, &domain) {
		return domain.Code
	}
	return ""
}

func newError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func invalid(faults ...Fault) *Error {
	detail := "the request does not fit its schema"
	if len(faults) > 0 && faults[0].Pointer != "" {
		detail = faults[0].Pointer + ": " + faults[0].Detail
	} else if len(faults) > 0 {
		detail = faults[0].Detail
	}
	return &Error{Code: CodeInvalidRequest, Detail: detail, Faults: faults}
}

// Invalid returns an invalid_request error that names the members at fault.
func Invalid(faults ...Fault) *Error { return invalid(faults...) }

// NewError returns an [Error] with a code and a formatted detail.
func NewError(code Code, format string, args ...any) *Error {
	return newError(code, format, args...)
}

// UnknownSession is the error of a call that names a session that is not there.
func UnknownSession(sessionID string) *Error {
	return newError(CodeSessionNotFound, "unknown session %s", sessionID)
}

// UnknownRun is the error of a call that names a run that is not there.
func UnknownRun(runID string) *Error {
	return newError(CodeRunNotFound, "unknown run %s", runID)
}

func (e *Error) with(recorded *RecordedDecision) *Error {
	e.Recorded = recorded
	return e
}

// Failures of a store that are nobody's request.
var (
	// ErrClosed: the store is shutting down and took nothing.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable: the database refused or could not be reached. The command may
	// or may not have taken effect.
	ErrUnavailable = errors.New("database is unavailable")
)
