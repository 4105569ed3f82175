package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

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

type resolveApprovalsBody struct {
	Key         string                   `json:"idempotency_key,omitempty"`
	Resolutions []api.ApprovalResolution `json:"resolutions"`
}

// ResolveRunApprovals decides approvals of a run. The run goes on once nothing is
// open any more. Errors: [ErrNotFound]; [ErrRunState] when the run is over;
// [ErrNotWaiting], with [ErrAlreadyDecided] when the approval was settled before;
// [ErrIdempotencyConflict]; [ErrInvalid].
func (c *Client) ResolveRunApprovals(ctx context.Context, runID string, params ResolveApprovalsParams) (*RunResult, error) {
	return c.resolveApprovals(ctx, "/v1/runs", runID, "approvals", params)
}

// ResolveActiveRunApprovals decides approvals of the session's active run and
// returns the run (the route is approval-runs). Errors: as of
// [Client.ResolveRunApprovals]; [ErrRunState] when no run is active.
func (c *Client) ResolveActiveRunApprovals(ctx context.Context, sessionID string, params ResolveApprovalsParams) (*RunResult, error) {
	return c.resolveApprovals(ctx, "/v1/sessions", sessionID, "approval-runs", params)
}

func (c *Client) resolveApprovals(ctx context.Context, base, id, noun string, params ResolveApprovalsParams) (*RunResult, error) {
	k, err := newKey(params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return c.keyedRun(ctx, k, resolveApprovalsBody{k.member, params.Resolutions}, base, id, noun)
}

// ResolveSessionApprovals decides approvals of the session's active run and returns
// the session. Errors: as of [Client.ResolveActiveRunApprovals].
func (c *Client) ResolveSessionApprovals(ctx context.Context, sessionID string, params ResolveApprovalsParams) (*SessionResult, error) {
	k, err := newKey(params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return c.keyedSession(ctx, k, resolveApprovalsBody{k.member, params.Resolutions}, params.Wait, sessionID, "approvals")
}

// keyedRun posts a keyed call whose reply is the run.
func (c *Client) keyedRun(ctx context.Context, k key, body any, base string, segments ...string) (*RunResult, error) {
	path, err := route(base, segments...)
	if err != nil {
		return nil, err
	}
	var result RunResult
	r, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, key: k, out: &result.RunView, repeat: always})
	if err != nil {
		return nil, err
	}
	result.Replayed = r.replayed
	return &result, nil
}

// keyedSession posts a keyed call whose reply is the session.
func (c *Client) keyedSession(ctx context.Context, k key, body any, wait time.Duration, segments ...string) (*SessionResult, error) {
	path, err := route("/v1/sessions", segments...)
	if err != nil {
		return nil, err
	}
	var result SessionResult
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: path, body: body, key: k,
		prefer: wait, held: wait, out: &result.SessionView, repeat: always,
	})
	if err != nil {
		return nil, err
	}
	result.Replayed = r.replayed
	return &result, nil
}

// PendingListParams choose open requests.
type PendingListParams struct {
	// SessionID chooses those of one session; all when empty. An unknown session has
	// none.
	SessionID string
	PageParams
}

func (p PendingListParams) path(noun string) (string, error) {
	if p.SessionID == "" {
		return "/v1/" + noun, nil
	}
	return route("/v1/sessions", p.SessionID, noun)
}

// ListApprovals returns one page of open approvals in the order of session, run and
// request id.
func (c *Client) ListApprovals(ctx context.Context, params PendingListParams) (*Page[api.PendingApprovalView], error) {
	path, err := params.path("approvals")
	if err != nil {
		return nil, err
	}
	return get[Page[api.PendingApprovalView]](ctx, c, path, params.query())
}

// AllApprovals walks all pages of [Client.ListApprovals]. It ends after the first
// error.
func (c *Client) AllApprovals(ctx context.Context, params PendingListParams) iter.Seq2[api.PendingApprovalView, error] {
	return walk(params.PageParams, func(page PageParams) (*Page[api.PendingApprovalView], error) {
		params.PageParams = page
		return c.ListApprovals(ctx, params)
	})
}
