package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// CreateSessionParams describe a session to make.
type CreateSessionParams struct {
	// SessionID is made by the client when empty, so that the call can be repeated.
	SessionID string `json:"session_id,omitempty"`
	AgentID   string `json:"agent_id,omitempty"`
	// ParentSessionID names the session that clarifications of this one go to.
	ParentSessionID string `json:"parent_session_id,omitempty"`
	// Metadata is any value whose JSON is an object.
	Metadata any `json:"metadata,omitzero"`
}

// CreateSession makes a session, or returns the one that has the id. Errors:
// [ErrIDConflict] when that one has another agent or parent; [ErrInvalid].
func (c *Client) CreateSession(ctx context.Context, params CreateSessionParams) (*api.SessionView, error) {
	if params.SessionID == "" {
		id, err := newID("session")
		if err != nil {
			return nil, err
		}
		params.SessionID = id
	}
	return post[api.SessionView](ctx, c, "/v1/sessions", params, always)
}

// GetSession returns a session. Errors: [ErrNotFound].
func (c *Client) GetSession(ctx context.Context, sessionID string) (*api.SessionView, error) {
	path, err := route("/v1/sessions", sessionID)
	if err != nil {
		return nil, err
	}
	return get[api.SessionView](ctx, c, path, nil)
}

// SessionListParams choose sessions. Empty members choose all.
type SessionListParams struct {
	Status  api.Status
	AgentID string
	PageParams
}

// ListSessions returns one page of sessions in the order of their ids.
func (c *Client) ListSessions(ctx context.Context, params SessionListParams) (*Page[api.SessionSummaryView], error) {
	query := params.query()
	set(query, "status", string(params.Status))
	set(query, "agent_id", params.AgentID)
	return get[Page[api.SessionSummaryView]](ctx, c, "/v1/sessions", query)
}

// AllSessions walks all pages of [Client.ListSessions]. It ends after the first
// error.
func (c *Client) AllSessions(ctx context.Context, params SessionListParams) iter.Seq2[api.SessionSummaryView, error] {
	return walk(params.PageParams, func(page PageParams) (*Page[api.SessionSummaryView], error) {
		params.PageParams = page
		return c.ListSessions(ctx, params)
	})
}

// InterruptResult says what an interrupt did.
type InterruptResult struct {
	// Interrupted is false when there was nothing to interrupt.
	Interrupted bool            `json:"interrupted"`
	Session     api.SessionView `json:"session"`
}

// InterruptSession interrupts the session's active run and declines the parent
// clarifications that wait in it. The reason may be empty.
// Errors: [ErrNotFound].
func (c *Client) InterruptSession(ctx context.Context, sessionID, reason string) (*InterruptResult, error) {
	path, err := route("/v1/sessions", sessionID, "interrupt")
	if err != nil {
		return nil, err
	}
	return post[InterruptResult](ctx, c, path, reasonBody{reason}, always)
}

// EndSession ends a session: its runs are cancelled and no run is taken any more.
// The reason may be empty. Errors: [ErrNotFound].
func (c *Client) EndSession(ctx context.Context, sessionID, reason string) (*api.SessionView, error) {
	path, err := route("/v1/sessions", sessionID, "end")
	if err != nil {
		return nil, err
	}
	return post[api.SessionView](ctx, c, path, reasonBody{reason}, always)
}

// SessionResult is the session after a call, and whether that call was a repeat.
type SessionResult struct {
	api.SessionView
	// Replayed: the idempotency key had been used for the same call.
	Replayed bool `json:"-"`
}

type reasonBody struct {
	Reason string `json:"reason,omitempty"`
}

// SendInput makes a run in the session and waits until it waits for a person or
// ends, 30 seconds when wait is 0, at most 60. Claim, Suspend and SessionID of the
// params must be empty. Errors: [ErrSessionBusy] while a run is active or queued;
// [ErrSessionEnded], [ErrIDConflict], [ErrIdempotencyConflict], [ErrInvalid].
func (c *Client) SendInput(ctx context.Context, sessionID string, params CreateRunParams, wait time.Duration) (*SessionResult, error) {
	if err := params.inSession(); err != nil {
		return nil, err
	}
	path, err := route("/v1/sessions", sessionID, "input")
	if err != nil {
		return nil, err
	}
	held := wait
	if held == 0 {
		held = 30 * time.Second
	}
	var result SessionResult
	k, err := params.key()
	if err != nil {
		return nil, err
	}
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: path, body: params.body(k), key: k,
		prefer: wait, held: held, out: &result.SessionView, repeat: always,
	})
	if err != nil {
		return nil, err
	}
	result.Replayed = r.replayed
	return &result, nil
}
