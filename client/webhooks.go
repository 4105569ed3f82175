package client

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
)

// CreateWebhook creates a webhook. Its secret is only in this result, so the call is never
// retried. Errors: [ErrInvalid]; [ErrForbidden].
func (c *Client) CreateWebhook(ctx context.Context, body api.WebhookBody) (*api.WebhookSecret, error) {
	return wholeDocument(ctx, c, call{method: http.MethodPost, path: at("/v1/webhooks"), body: body, repeat: never}, hasSecret)
}

func hasSecret(reply *api.WebhookSecret) bool {
	return reply.Webhook.WebhookID != "" && reply.Secret != ""
}

// ListWebhooks returns all webhooks, oldest first. Errors: [ErrForbidden].
func (c *Client) ListWebhooks(ctx context.Context) (*api.WebhookList, error) {
	return get[api.WebhookList](ctx, c, at("/v1/webhooks"), nil, "data")
}

// GetWebhook returns a webhook. Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) GetWebhook(ctx context.Context, webhookID string) (*api.Webhook, error) {
	return get[api.Webhook](ctx, c, at("/v1/webhooks", webhookID), nil, "webhook_id")
}

// ChangeWebhook changes the settings in the body and keeps the others. Errors:
// [ErrInvalid]; [ErrNotFound]; [ErrForbidden].
func (c *Client) ChangeWebhook(ctx context.Context, webhookID string, body api.WebhookBody) (*api.Webhook, error) {
	return post[api.Webhook](ctx, c, at("/v1/webhooks", webhookID), body, always, "webhook_id")
}

// RemoveWebhook deletes a webhook and drops its pending deliveries. Errors: [ErrNotFound];
// [ErrForbidden].
func (c *Client) RemoveWebhook(ctx context.Context, webhookID string) error {
	return c.remove(ctx, at("/v1/webhooks", webhookID), never)
}

// RotateWebhook gives a webhook a new secret; for the time in the body, deliveries are also
// signed with the current one. It is never retried. Errors: [ErrNotFound]; [ErrInvalid]; [ErrForbidden].
func (c *Client) RotateWebhook(ctx context.Context, webhookID string, body api.RotateWebhookBody) (*api.WebhookSecret, error) {
	return wholeDocument(ctx, c, call{method: http.MethodPost, path: at("/v1/webhooks", webhookID, "rotate"), body: body, repeat: never}, hasSecret)
}

// TestWebhook posts a test event to the endpoint once, and returns the result. Errors:
// [ErrNotFound]; [ErrForbidden].
func (c *Client) TestWebhook(ctx context.Context, webhookID string) (*api.WebhookTest, error) {
	return post[api.WebhookTest](ctx, c, at("/v1/webhooks", webhookID, "test"), struct{}{}, never, "delivered", "message_id")
}

// ReplayWebhook makes dropped deliveries due again. Repeat it while the result says More.
// Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) ReplayWebhook(ctx context.Context, webhookID string) (*api.WebhookReplay, error) {
	return post[api.WebhookReplay](ctx, c, at("/v1/webhooks", webhookID, "replay"), struct{}{}, always, "replayed", "more")
}
