package client

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// Error is a refusal of the service: a problem document, see [api.Problem].
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the stable name of the error; empty when something between the client
	// and the service answered without a problem document.
	Code api.Code
	// Domain is the part of the API that the code belongs to.
	Domain string
	// Detail is for people.
	Detail string
	// Faults names the members at fault.
	Faults []api.Fault
	// Recorded is the decision before this call, when the call was late.
	Recorded *api.RecordedDecision
	// Pending is the approval that is open now, for [ErrApprovalChanged].
	Pending *api.PendingApprovalRef
	// FirstKeptEventID is the oldest event that is kept, for [ErrCursorReset].
	FirstKeptEventID string
	// Redemption is the first one, for [ErrGrantRedeemed].
	Redemption *api.Redemption
	// RetryAfter is how long the service asked to wait; 0 without a Retry-After.
	RetryAfter time.Duration
}

// Error returns code and detail.
func (e *Error) Error() string {
	text := string(e.Code)
	if text == "" {
		text = "HTTP " + strconv.Itoa(e.Status)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is reports whether the error is of the kind that a sentinel of this package
// names, by the table at [ErrNotFound] and the following.
func (e *Error) Is(target error) bool {
	for _, kind := range kinds {
		if kind.sentinel == target {
			return slices.Contains(kind.codes, e.Code) ||
				slices.Contains(kind.statuses, e.Status) ||
				kind.recorded != nil && e.Recorded != nil && kind.recorded(e.Recorded)
		}
	}
	return false
}

// Sentinels for [errors.Is]. An [Error] may be of several kinds: a late answer is
// ErrExpired, ErrAlreadyDecided and ErrConflict at once.
var (
	// ErrNotFound: the session, run, request, message, effect or route does not exist
	// (404).
	ErrNotFound = errors.New("not found")
	// ErrConflict: the present state does not allow it (409, all codes).
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the request is malformed (400, 413, 415, 422), or this package refused
	// an argument before sending anything.
	ErrInvalid = errors.New("invalid request")
	// ErrAlreadyDecided: the request was settled before; Error.Recorded says how.
	ErrAlreadyDecided = errors.New("already decided")
	// ErrExpired: the question expired (question_expired), or the decision on record
	// is that the request expired.
	ErrExpired = errors.New("expired")
	// ErrLeaseLost: the fence is stale (lease_lost). Of a handler's context it is
	// also the cause when the lease could not be renewed in time.
	ErrLeaseLost = errors.New("lease lost")
	// ErrRunNotClaimable: the run cannot be claimed now (run_not_claimable).
	ErrRunNotClaimable = errors.New("run is not claimable")
	// ErrRunState: the run is not in a state that allows it (run_state_conflict).
	ErrRunState = errors.New("run state conflict")
	// ErrNotWaiting: the run does not wait for such a thing, or not for this one
	// (approval_state_conflict, question_state_conflict,
	// approval_request_not_pending, question_request_mismatch), or a parent
	// clarification was resolved with another answer (question_resolution_conflict).
	ErrNotWaiting = errors.New("not waiting for this")
	// ErrApprovalChanged: the open approval is not the one whose input digest or handle the
	// resolution carries (approval_changed); Error.Pending is what is open now.
	ErrApprovalChanged = errors.New("approval has changed")
	// ErrSessionBusy: inline input while a run is active or queued (session_busy).
	ErrSessionBusy = errors.New("session is busy")
	// ErrSessionEnded: the session accepts no more runs (session_ended).
	ErrSessionEnded = errors.New("session has ended")
	// ErrNoParent: the session has no parent to ask (no_parent_session).
	ErrNoParent = errors.New("no parent session")
	// ErrIDConflict: the id was used for something else (id_conflict).
	ErrIDConflict = errors.New("id conflict")
	// ErrIdempotencyConflict: the key was used with another payload
	// (idempotency_conflict).
	ErrIdempotencyConflict = errors.New("idempotency conflict")
	// ErrCursorReset: some of the events after the given one are not kept any more
	// (event_cursor_reset). Nothing before Error.FirstKeptEventID is there: read again without
	// an id for all that is kept.
	ErrCursorReset = errors.New("events are not kept any more")
	// ErrUnauthorized: no token, or a bad one (401).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden: the token does not allow it (403).
	ErrForbidden = errors.New("forbidden")
	// ErrRateLimited: too many calls (429).
	ErrRateLimited = errors.New("rate limited")
	// ErrUnavailable: the service could not be reached or could not answer (502, 503,
	// 504, broken connection, time-out). A call that changes something may or may not
	// have taken effect.
	ErrUnavailable = errors.New("service unavailable")
)

// kinds is the one table that says which refusals a sentinel stands for: any of
// the codes, any of the statuses, or a recorded decision of that sort.
var kinds = []struct {
	sentinel error
	codes    []api.Code
	statuses []int
	recorded func(*api.RecordedDecision) bool
}{
	{sentinel: ErrNotFound, statuses: []int{http.StatusNotFound}},
	{sentinel: ErrConflict, statuses: []int{http.StatusConflict}},
	{sentinel: ErrInvalid, statuses: []int{
		http.StatusBadRequest, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
	}},
	{sentinel: ErrAlreadyDecided, recorded: func(*api.RecordedDecision) bool { return true }},
	{
		sentinel: ErrExpired, codes: []api.Code{api.CodeQuestionExpired},
		recorded: func(r *api.RecordedDecision) bool { return r.Outcome == api.OutcomeExpired },
	},
	{sentinel: ErrLeaseLost, codes: []api.Code{api.CodeLeaseLost}},
	{sentinel: ErrRunNotClaimable, codes: []api.Code{api.CodeRunNotClaimable}},
	{sentinel: ErrRunState, codes: []api.Code{api.CodeRunStateConflict}},
	{sentinel: ErrNotWaiting, codes: []api.Code{
		api.CodeApprovalStateConflict, api.CodeQuestionStateConflict,
		api.CodeApprovalNotPending, api.CodeQuestionRequestMismatch, api.CodeQuestionResolutionConflict,
	}},
	{sentinel: ErrApprovalChanged, codes: []api.Code{api.CodeApprovalChanged}},
	{sentinel: ErrGrantInvalid, codes: []api.Code{api.CodeInvalidGrant}},
	{sentinel: ErrGrantMismatch, codes: []api.Code{api.CodeGrantMismatch}},
	{sentinel: ErrGrantExpired, codes: []api.Code{api.CodeGrantExpired}},
	{sentinel: ErrGrantRedeemed, codes: []api.Code{api.CodeGrantRedeemed}},
	{sentinel: ErrSessionBusy, codes: []api.Code{api.CodeSessionBusy}},
	{sentinel: ErrSessionEnded, codes: []api.Code{api.CodeSessionEnded}},
	{sentinel: ErrNoParent, codes: []api.Code{api.CodeNoParentSession}},
	{sentinel: ErrIDConflict, codes: []api.Code{api.CodeIDConflict}},
	{sentinel: ErrIdempotencyConflict, codes: []api.Code{api.CodeIdempotencyConflict}},
	{sentinel: ErrCursorReset, codes: []api.Code{api.CodeEventCursorReset}},
	{sentinel: ErrUnauthorized, statuses: []int{http.StatusUnauthorized}},
	{sentinel: ErrForbidden, statuses: []int{http.StatusForbidden}},
	{sentinel: ErrRateLimited, statuses: []int{http.StatusTooManyRequests}},
	{sentinel: ErrUnavailable, statuses: []int{
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}},
}
