package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdpoint/holdpoint/api"
)

// Me returns the caller's identity as the service sees it. Errors: [ErrUnauthorized].
func (c *Client) Me(ctx context.Context) (*api.Me, error) {
	return get[api.Me](ctx, c, at("/v1/me"), nil, "principal", "role")
}

// CreateToken creates a token. Its secret is only in this result, so the call is never
// retried. Errors: [ErrInvalid]; [ErrForbidden].
func (c *Client) CreateToken(ctx context.Context, body api.CreateTokenBody) (*api.TokenSecret, error) {
	return wholeDocument(ctx, c, call{method: http.MethodPost, path: at("/v1/tokens"), body: body, repeat: never}, hasTokenID)
}

func hasTokenID(reply *api.TokenSecret) bool { return reply.Token.TokenID != "" }

// TokenListParams select tokens.
type TokenListParams struct {
	State  api.TokenState // any state if empty
	Limit  int            // the service's default if 0
	Cursor string         // of the previous page
}

// ListTokens returns a page of tokens, oldest first. Errors: [ErrForbidden].
func (c *Client) ListTokens(ctx context.Context, params TokenListParams) (*api.TokenList, error) {
	query := url.Values{}
	set(query, "state", string(params.State))
	PageParams{Limit: params.Limit, Cursor: params.Cursor}.addTo(query)
	return get[api.TokenList](ctx, c, at("/v1/tokens"), query, "data")
}

// GetToken returns a token, revoked or not. Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) GetToken(ctx context.Context, tokenID string) (*api.TokenView, error) {
	return get[api.TokenView](ctx, c, at("/v1/tokens", tokenID), nil, "token_id")
}

// RotateToken gives a token a new secret; the current one remains valid for graceMs more.
// It is never retried. Errors: [ErrNotFound];
// [ErrInvalid]; [ErrForbidden].
func (c *Client) RotateToken(ctx context.Context, tokenID string, graceMs int64) (*api.TokenSecret, error) {
	return wholeDocument(ctx, c, call{
		method: http.MethodPost, path: at("/v1/tokens", tokenID, "rotate"), body: api.RotateTokenBody{GraceMs: graceMs}, repeat: never,
	}, hasTokenID)
}

// RevokeToken revokes a token. Repeating it is a no-op. Errors: [ErrNotFound];
// [ErrForbidden].
func (c *Client) RevokeToken(ctx context.Context, tokenID string) error {
	return c.remove(ctx, at("/v1/tokens", tokenID), always)
}
