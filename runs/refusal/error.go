package refusal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Error rejects a call that the caller can correct or must accept (docs/spec/v1.md#problems).
// [errors.Is] compares Errors by code.
type Error struct {
	Code   api.Code
	Detail string
	// Faults names every invalid member of an invalid_request, or the first event beyond the limits
	// with append_too_large.
	Faults []api.Fault
	// Recorded is the earlier decision; set only if the call names a settled request
	// (docs/spec/v1.md#recorded-decision).
	Recorded *api.RecordedDecision
	// Pending is the open request; set only with approval_changed.
	Pending *api.PendingApprovalRef
	// FirstKeptEventID is the oldest kept event; set only with event_cursor_reset.
	FirstKeptEventID string
	// Redemption is the first redemption of a grant; set only with grant_redeemed.
	Redemption *api.Redemption
	// Left is how many tries of a code are left; set only for a wrong code.
	Left *int64
	// AfterMs is when the same call may succeed, in milliseconds from now; 0 if unknown.
	AfterMs int64
}

// Error returns the code and the detail, for logs and tests.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// Is reports whether target is an Error with the same code.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// CodeOf returns the code of the first [Error] in the chain of err. It returns "" without one:
// the failure is then the service's, not the caller's.
func CodeOf(err error) api.Code {
	if domain, ok := errors.AsType[*Error](err); ok {
		return domain.Code
	}
	return ""
}

// New returns an [Error] with the given code. The detail is formatted as by [fmt.Sprintf].
func New(code api.Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// TooSoon returns an error for a call that may succeed after a time.
func TooSoon(code api.Code, afterMs int64, format string, args ...any) *Error {
	refused := New(code, format, args...)
	refused.AfterMs = afterMs
	return refused
}

// WrongCode returns an error for a wrong code. left is how many more tries its caller has.
func WrongCode(code api.Code, left int64, format string, args ...any) *Error {
	refused := New(code, format, args...)
	refused.Left = &left
	return refused
}

// Invalid returns an invalid_request error with the given faults. Its detail repeats the first
// one.
func Invalid(faults ...api.Fault) *Error {
	for i := range faults {
		if len(faults[i].Pointer) > maxShownPointer || len(faults[i].Detail) > maxShownDetail {
			faults = slices.Clone(faults)
			for i := range faults {
				faults[i] = shown(faults[i])
			}
			break
		}
	}
	detail := "the request does not fit its schema"
	if len(faults) > 0 && faults[0].Pointer != "" {
		detail = faults[0].Pointer + ": " + faults[0].Detail
	} else if len(faults) > 0 {
		detail = faults[0].Detail
	}
	return &Error{Code: api.CodeInvalidRequest, Detail: detail, Faults: faults}
}

// Limits on names from the body that a fault repeats, so that an error stays small.
const (
	maxShownPointer = 256
	maxShownDetail  = 500
)

// shown shortens long names in a fault, and cuts its pointer at the limit.
func shown(fault api.Fault) api.Fault {
	if len(fault.Pointer) > maxShownPointer {
		fault.Pointer = fault.Pointer[:max(strings.LastIndexByte(fault.Pointer[:maxShownPointer], '/'), 0)]
		fault.Detail = "in a member whose name is too long to show: " + fault.Detail
	}
	if len(fault.Detail) > maxShownDetail {
		fault.Detail = strings.ToValidUTF8(fault.Detail[:maxShownDetail], "") + "…"
	}
	return fault
}

// UnknownSession returns session_not_found.
func UnknownSession(sessionID string) *Error {
	return New(api.CodeSessionNotFound, "unknown session %s", sessionID)
}

// UnknownEffect returns effect_not_found.
func UnknownEffect(sessionID, effectID string) *Error {
	return New(api.CodeEffectNotFound, "unknown effect %s in session %s", effectID, sessionID)
}

// UnknownRun returns run_not_found.
func UnknownRun(runID string) *Error {
	return New(api.CodeRunNotFound, "unknown run %s", runID)
}

// UnknownRequest returns request_not_found for a handle.
func UnknownRequest(handle string) *Error {
	return New(api.CodeRequestNotFound, "unknown request %s", handle)
}

// RunIDTaken returns id_conflict for a run id that is already in use.
func RunIDTaken(runID string) *Error {
	return New(api.CodeIDConflict, "run %s exists with another payload", runID)
}

// EventsReset returns event_cursor_reset for a read after an event that this log does not
// contain or no longer keeps.
func EventsReset(after, last, firstKept int64) *Error {
	refused := New(api.CodeEventCursorReset, "events after %d are not kept any more; the log begins at %d", after, firstKept)
	if after > last {
		refused.Detail = fmt.Sprintf("the log ends at event %d, before event %d: the session was deleted and its id used again, or the database was restored", last, after)
	} else if after >= firstKept-1 {
		refused.Detail = fmt.Sprintf("event %d is another one by now: the session was deleted and its id used again, or the database was restored; the log begins at %d", after, firstKept)
	}
	refused.FirstKeptEventID = strconv.FormatInt(firstKept, 10)
	return refused
}

// With sets the recorded decision, which may be nil, and returns e.
func (e *Error) With(recorded *api.RecordedDecision) *Error {
	e.Recorded = recorded
	return e
}

// UnknownRule returns rule_not_found.
func UnknownRule(ruleID string) *Error {
	return New(api.CodeRuleNotFound, "unknown rule %s", ruleID)
}
