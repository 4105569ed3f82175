package client

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
)

// CreateWebhook makes a webhook. Its secret is in the result and cannot be had again, so the call is
// repeated only where the service cannot have received it. Errors: [ErrInvalid]; [ErrForbidden].
func (c *Client) CreateWebhook(ctx context.Context, body api.WebhookBody) (*api.WebhookSecret, error) {
	return post[api.WebhookSecret](ctx, c, at("/v1/webhooks"), body, never)
}

// ListWebhooks returns all webhooks, the oldest first. Errors: [ErrForbidden].
func (c *Client) ListWebhooks(ctx context.Context) (*api.WebhookList, error) {
	return get[api.WebhookList](ctx, c, at("/v1/webhooks"), nil)
}

// GetWebhook returns a webhook. Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) GetWebhook(ctx context.Context, webhookID string) (*api.Webhook, error) {
	return get[api.Webhook](ctx, c, at("/v1/webhooks", webhookID), nil)
}

// ChangeWebhook changes what the body names and leaves the rest. Errors: [ErrInvalid]; [ErrNotFound];
// [ErrForbidden].
func (c *Client) ChangeWebhook(ctx context.Context, webhookID string, body api.WebhookBody) (*api.Webhook, error) {
	return post[api.Webhook](ctx, c, at("/v1/webhooks", webhookID), body, always)
}

// RemoveWebhook deletes a webhook; what it is owed is given up. Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) RemoveWebhook(ctx context.Context, webhookID string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: at("/v1/webhooks", webhookID), repeat: never})
	return err
}

// RotateWebhook gives a webhook another secret; deliveries are signed with the present one, too, for
// as long as the body says. It is repeated only where the service cannot have received it. Errors:
// [ErrNotFound]; [ErrInvalid]; [ErrForbidden].
func (c *Client) RotateWebhook(ctx context.Context, webhookID string, body api.RotateWebhookBody) (*api.WebhookSecret, error) {
	return post[api.WebhookSecret](ctx, c, at("/v1/webhooks", webhookID, "rotate"), body, never)
}

// TestWebhook posts a test event to the endpoint once, and says what came of it. Errors:
// [ErrNotFound]; [ErrForbidden].
func (c *Client) TestWebhook(ctx context.Context, webhookID string) (*api.WebhookTest, error) {
	return post[api.WebhookTest](ctx, c, at("/v1/webhooks", webhookID, "test"), struct{}{}, never)
}

// ReplayWebhook makes deliveries that were given up due again. Call it again while the result says
// More. Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) ReplayWebhook(ctx context.Context, webhookID string) (*api.WebhookReplay, error) {
	return post[api.WebhookReplay](ctx, c, at("/v1/webhooks", webhookID, "replay"), struct{}{}, always)
}
