package client

import (
	"context"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// CreateSessionParams describe a session to make.
type CreateSessionParams struct {
	// SessionID is made by the client when empty, so that the call can be repeated.
	SessionID string
	AgentID   string
	// ParentSessionID names the session that clarifications of this one go to.
	ParentSessionID string
	// Metadata is any value whose JSON is an object.
	Metadata any
}

// CreateSession makes a session, or returns the one that has the id. Errors:
// [ErrIDConflict] when that one has another agent or parent; [ErrInvalid].
func (c *Client) CreateSession(ctx context.Context, params CreateSessionParams) (*api.SessionView, error) {
	metadata, err := encodeMember("metadata", params.Metadata)
	if err != nil {
		return nil, err
	}
	if params.SessionID == "" {
		params.SessionID = newID("session")
	}
	return post[api.SessionView](ctx, c, at("/v1/sessions"), api.CreateSessionBody{
		SessionID: &params.SessionID, AgentID: optional(params.AgentID),
		ParentSessionID: optional(params.ParentSessionID), Metadata: metadata,
	}, always)
}

// encodeMember returns a member of a body as JSON; nil for a nil value, which leaves the
// member out.
func encodeMember(name string, value any) (api.JSON, error) {
	if value == nil {
		return nil, nil
	}
	text, err := EncodeJSON(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	return text, nil
}

// GetSession returns a session. Errors: [ErrNotFound].
func (c *Client) GetSession(ctx context.Context, sessionID string) (*api.SessionView, error) {
	return get[api.SessionView](ctx, c, at("/v1/sessions", sessionID), nil)
}

// InterruptResult says what an interrupt did.
type InterruptResult = api.InterruptReply

// InterruptSession interrupts the session's active run and declines the parent
// clarifications that wait in it. The reason may be empty. Errors: [ErrNotFound].
func (c *Client) InterruptSession(ctx context.Context, sessionID, reason string) (*InterruptResult, error) {
	return post[InterruptResult](ctx, c, at("/v1/sessions", sessionID, "interrupt"), api.ReasonBody{Reason: reason}, always)
}

// EndSession ends a session: its runs are cancelled and no run is accepted any more.
// The reason may be empty. Errors: [ErrNotFound].
func (c *Client) EndSession(ctx context.Context, sessionID, reason string) (*api.SessionView, error) {
	return post[api.SessionView](ctx, c, at("/v1/sessions", sessionID, "end"), api.ReasonBody{Reason: reason}, always)
}

// SendInput makes a run in the session and waits until it waits for a person or
// ends, 30 seconds when wait is 0, at most 60. Claim, Suspend and SessionID of the
// params must be empty. Errors: [ErrSessionBusy] while a run is active or queued;
// [ErrSessionEnded], [ErrIDConflict], [ErrIdempotencyConflict], [ErrInvalid].
func (c *Client) SendInput(ctx context.Context, sessionID string, params CreateRunParams, wait time.Duration) (*SessionResult, error) {
	if err := params.inSession(); err != nil {
		return nil, err
	}
	k, body, err := params.body()
	if err != nil {
		return nil, err
	}
	held := wait
	if held == 0 {
		held = 30 * time.Second
	}
	return c.postForSession(ctx, at("/v1/sessions", sessionID, "input"), k, body.SessionRunBody, wait, held)
}
