package client

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// RunResult is the run after a call, and whether that call was a repeat.
type RunResult struct {
	api.RunView
	// Replayed: the idempotency key had been used for the same call.
	Replayed bool `json:"-"`
}

// SessionResult is the session after a call, and whether that call was a repeat.
type SessionResult struct {
	api.SessionView
	// Replayed: the idempotency key had been used for the same call.
	Replayed bool `json:"-"`
}

// postForRun posts a keyed call whose reply is the run.
func (c *Client) postForRun(ctx context.Context, to path, k key, body any) (*RunResult, error) {
	var result RunResult
	r, err := c.do(ctx, call{method: http.MethodPost, path: to, body: body, key: k, out: &result.RunView, repeat: always})
	result.Replayed = r.replayed
	return orNil(&result, err)
}

// postForSession posts a keyed call whose reply is the session. It prefers a wait unless
// that is 0, and expects the reply to be held for as long as held.
func (c *Client) postForSession(ctx context.Context, to path, k key, body any, wait, held time.Duration) (*SessionResult, error) {
	var result SessionResult
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: to, body: body, key: k,
		prefer: wait, held: held, out: &result.SessionView, repeat: always,
	})
	result.Replayed = r.replayed
	return orNil(&result, err)
}

// ResolveApprovalsParams decide one or more open approvals of one run, all or none.
type ResolveApprovalsParams struct {
	Resolutions []api.ApprovalResolution
	// IdempotencyKey is made by the client when empty. Give one of your own to let a
	// later process repeat the call.
	IdempotencyKey string
	// Wait is for [Client.ResolveSessionApprovals] only: how long the reply may be
	// held until the run waits again or ends; at most 60 seconds, rounded up to whole
	// ones.
	Wait time.Duration
}

func (p ResolveApprovalsParams) body() (key, api.ResolveApprovalsBody) {
	k := newKey(p.IdempotencyKey)
	return k, api.ResolveApprovalsBody{IdempotencyKey: k.inBody, Resolutions: p.Resolutions}
}

// ResolveRunApprovals decides approvals of a run. The run goes on once nothing is
// open any more. Errors: [ErrNotFound]; [ErrRunState] when the run is terminal;
// [ErrNotWaiting], with [ErrAlreadyDecided] when the approval was settled before;
// [ErrApprovalChanged]; [ErrIdempotencyConflict]; [ErrInvalid].
func (c *Client) ResolveRunApprovals(ctx context.Context, runID string, params ResolveApprovalsParams) (*RunResult, error) {
	k, body := params.body()
	return c.postForRun(ctx, at("/v1/runs", runID, "approvals"), k, body)
}

// ResolveActiveRunApprovals decides approvals of the session's active run and
// returns the run (the route is approval-runs). Errors: as of
// [Client.ResolveRunApprovals]; [ErrRunState] when no run is active.
func (c *Client) ResolveActiveRunApprovals(ctx context.Context, sessionID string, params ResolveApprovalsParams) (*RunResult, error) {
	k, body := params.body()
	return c.postForRun(ctx, at("/v1/sessions", sessionID, "approval-runs"), k, body)
}

// ResolveSessionApprovals decides approvals of the session's active run and returns
// the session. Errors: as of [Client.ResolveActiveRunApprovals].
func (c *Client) ResolveSessionApprovals(ctx context.Context, sessionID string, params ResolveApprovalsParams) (*SessionResult, error) {
	k, body := params.body()
	return c.postForSession(ctx, at("/v1/sessions", sessionID, "approvals"), k, body, params.Wait, params.Wait)
}

// AnswerQuestionParams answer or decline one open question request.
type AnswerQuestionParams struct {
	Resolution api.UserQuestionResolution
	// IdempotencyKey is made by the client when empty. Give one of your own to let a
	// later process repeat the call.
	IdempotencyKey string
	// Wait is for [Client.AnswerSessionQuestion] only; see ResolveApprovalsParams.
	Wait time.Duration
}

func (p AnswerQuestionParams) body() (key, api.AnswerQuestionBody) {
	k := newKey(p.IdempotencyKey)
	return k, api.AnswerQuestionBody{IdempotencyKey: k.inBody, Resolution: p.Resolution}
}

// AnswerRunQuestion answers a question of a run. A parent clarification is completed
// by it, and the very same answer again succeeds. Errors: [ErrNotFound];
// [ErrExpired]; [ErrNotWaiting], with [ErrAlreadyDecided] when the question was
// settled before; [ErrRunState]; [ErrIdempotencyConflict]; [ErrInvalid] when the
// answer does not fit, with the code saying why.
func (c *Client) AnswerRunQuestion(ctx context.Context, runID string, params AnswerQuestionParams) (*RunResult, error) {
	k, body := params.body()
	return c.postForRun(ctx, at("/v1/runs", runID, "questions"), k, body)
}

// AnswerSessionQuestion answers a question of the session's active run, or else of a
// parent clarification that waits in the session, and returns the session. Errors: as
// of [Client.AnswerRunQuestion].
func (c *Client) AnswerSessionQuestion(ctx context.Context, sessionID string, params AnswerQuestionParams) (*SessionResult, error) {
	k, body := params.body()
	return c.postForSession(ctx, at("/v1/sessions", sessionID, "questions"), k, body, params.Wait, params.Wait)
}

// CancelQuestionParams cancel an open question. Both members may be empty.
type CancelQuestionParams struct {
	Justification string
	// IdempotencyKey is made by the client when empty.
	IdempotencyKey string
}

// CancelQuestion cancels an open question, and with it the run; a parent clarification
// is completed, declined. Errors: [ErrNotFound]; [ErrExpired]; [ErrNotWaiting], with
// [ErrAlreadyDecided] when the question was settled before; [ErrIdempotencyConflict].
func (c *Client) CancelQuestion(ctx context.Context, runID, requestID string, params CancelQuestionParams) (*RunResult, error) {
	k := newKey(params.IdempotencyKey)
	return c.postForRun(ctx, at("/v1/runs", runID, "questions", requestID, "cancel"), k,
		api.CancelQuestionBody{IdempotencyKey: k.inBody, Justification: params.Justification})
}
