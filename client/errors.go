package client

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// Error is a refusal by the service: a problem document, see [api.Problem].
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the stable name of the error; empty if an intermediary answered without a
	// problem document.
	Code api.Code
	// Domain is the part of the API that the code belongs to.
	Domain string
	// Detail is text for people.
	Detail string
	// Faults are the invalid members.
	Faults []api.Fault
	// Recorded is the decision that preceded a late call.
	Recorded *api.RecordedDecision
	// Pending is the approval that is open now, for [ErrApprovalChanged].
	Pending *api.PendingApprovalRef
	// FirstKeptEventID is the oldest existing event, for [ErrCursorReset].
	FirstKeptEventID string
	// Redemption is the first redemption, for [ErrGrantRedeemed].
	Redemption *api.Redemption
	// Left is how many tries of a code are left after a wrong one; nil for other errors.
	Left *int64
	// RetryAfter is how long the service asked to wait; 0 without a Retry-After.
	RetryAfter time.Duration
	// Lost reports that an earlier attempt of the same call had no reply of the service, so the call may have taken
	// effect although this attempt was refused. The error is then also [ErrUnavailable].
	Lost bool
}

// Error returns code and detail.
func (e *Error) Error() string {
	text := cmp.Or(string(e.Code), "HTTP "+strconv.Itoa(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Lost {
		text += "; an earlier attempt had no reply and may have taken effect"
	}
	return text
}

// judges reports whether the refusal of a repeated call also says what became of its earlier attempts. The service
// checks the credential and the limits before it looks for an earlier attempt. What it does not find may be deleted by
// that attempt, or since then out of the token's scope.
func (e *Error) judges() bool {
	return e.Code != "" && e.Status < http.StatusInternalServerError &&
		!slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests}, e.Status)
}

// Is reports whether the error is of a sentinel's kind; see [ErrNotFound] and the
// following.
func (e *Error) Is(target error) bool {
	if e.Lost && target == ErrUnavailable {
		return true
	}
	for _, kind := range kinds {
		if kind.sentinel == target {
			return slices.Contains(kind.codes, e.Code) ||
				slices.Contains(kind.statuses, e.Status) ||
				kind.recorded != nil && e.Recorded != nil && kind.recorded(e.Recorded)
		}
	}
	return false
}

// Sentinel errors for [errors.Is]. An [Error] may match several: a late answer is
// ErrExpired, ErrAlreadyDecided and ErrConflict at once.
var (
	// ErrNotFound: the session, run, request, message, effect or route does not exist
	// (404).
	ErrNotFound = errors.New("not found")
	// ErrConflict: the current state does not allow it (409, all codes).
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the request is malformed (400, 413, 415, 422), or this package refused an
	// argument before sending anything.
	ErrInvalid = errors.New("invalid request")
	// ErrAlreadyDecided: the request was already settled; Error.Recorded has the decision.
	ErrAlreadyDecided = errors.New("already decided")
	// ErrExpired: the question expired (question_expired), or the recorded decision is that
	// the request expired.
	ErrExpired = errors.New("expired")
	// ErrLeaseLost: the fence is stale (lease_lost). It is also the cause of a handler's
	// context if the lease could not be renewed in time.
	ErrLeaseLost = errors.New("lease lost")
	// ErrRunNotClaimable: the run cannot be claimed now (run_not_claimable).
	ErrRunNotClaimable = errors.New("run is not claimable")
	// ErrRunState: the run is not in a state that allows it (run_state_conflict).
	ErrRunState = errors.New("run state conflict")
	// ErrNotWaiting: the run does not wait for such a request, or not for this one
	// (approval_state_conflict, question_state_conflict, approval_request_not_pending,
	// question_request_mismatch), or a parent clarification was resolved with another
	// answer (question_resolution_conflict).
	ErrNotWaiting = errors.New("not waiting for this")
	// ErrApprovalChanged: the open approval does not have the input digest or handle in the
	// resolution (approval_changed); Error.Pending is what is open now.
	ErrApprovalChanged = errors.New("approval has changed")
	// ErrSessionBusy: inline input while a run is active or queued (session_busy).
	ErrSessionBusy = errors.New("session is busy")
	// ErrSessionEnded: the session accepts no more runs (session_ended).
	ErrSessionEnded = errors.New("session has ended")
	// ErrNoParent: the session has no parent to ask (no_parent_session).
	ErrNoParent = errors.New("no parent session")
	// ErrIDConflict: the id is used for something else (id_conflict).
	ErrIDConflict = errors.New("id conflict")
	// ErrIdempotencyConflict: the key was used with another payload (idempotency_conflict).
	ErrIdempotencyConflict = errors.New("idempotency conflict")
	// ErrCursorReset: events after the given one were deleted (event_cursor_reset). The
	// oldest existing one is Error.FirstKeptEventID. Read again without an id to get all
	// existing events.
	ErrCursorReset = errors.New("events are not kept any more")
	// ErrUnauthorized: the token is missing or invalid (401).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden: the token does not allow it (403).
	ErrForbidden = errors.New("forbidden")
	// ErrRateLimited: too many calls (429).
	ErrRateLimited = errors.New("rate limited")
	// ErrUnavailable: the service could not be reached or could not answer (502, 503, 504,
	// broken connection, time-out), or refused the call after such an attempt (Error.Lost). A
	// call that changes something may have taken effect or not.
	ErrUnavailable = errors.New("service unavailable")
)

// kinds defines which refusals match a sentinel: by code, by status, or by the outcome of
// the recorded decision.
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
