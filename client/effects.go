package client

import (
	"context"
	"iter"

	"github.com/holdpoint/holdpoint/api"
)

// EffectListParams choose effects. Empty members choose all.
type EffectListParams struct {
	State api.EffectState
	// SessionID is the session of the decision that owes the effect.
	SessionID string
	PageParams
}

// ListEffects returns one page of effects, oldest first.
func (c *Client) ListEffects(ctx context.Context, params EffectListParams) (*Page[api.EffectView], error) {
	query := params.query()
	set(query, "state", string(params.State))
	set(query, "session_id", params.SessionID)
	return get[Page[api.EffectView]](ctx, c, "/v1/effects", query)
}

// AllEffects walks all pages of [Client.ListEffects]. It ends after the first error.
func (c *Client) AllEffects(ctx context.Context, params EffectListParams) iter.Seq2[api.EffectView, error] {
	return walk(params.PageParams, func(page PageParams) (*Page[api.EffectView], error) {
		params.PageParams = page
		return c.ListEffects(ctx, params)
	})
}

// RetryEffect lets an effect be tried at once, also one that was given up. One that
// is done stays done. Errors: [ErrNotFound].
func (c *Client) RetryEffect(ctx context.Context, sessionID, effectID string) (*api.EffectView, error) {
	path, err := route("/v1/sessions", sessionID, "effects", effectID, "retry")
	if err != nil {
		return nil, err
	}
	return post[api.EffectView](ctx, c, path, nil, always)
}
