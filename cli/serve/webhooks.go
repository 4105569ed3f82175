package serve

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// webhooks returns what delivers to webhooks and what their routes need.
func (c *Command) webhooks(opened store.Store, secretKeys *sealing.Keys, guard egress.Guard, signatures *signing.Keys, admin *admin, logger *slog.Logger) (*deliver.Deliverer, *httpapi.Webhooks) {
	options := webhooks.Options{
		Store: opened, CheckURL: guard.CheckURL, NewID: runs.NewID,
		NowMs: func() int64 { return time.Now().UnixMilli() },
	}
	if secretKeys != nil {
		options.Sealer = secretKeys
	}
	manager := webhooks.NewManager(options)
	callbacks := deliver.Callbacks{Sign: signatures.Sign, Issuer: httpapi.GrantIssuer(c.ExternalURL)}
	if secretKeys != nil {
		callbacks.Sealer = secretKeys
	}
	deliverer := deliver.New(opened, deliver.Options{
		Manager: manager, Client: egress.New(egress.Options{Guard: guard}), Logger: logger,
		ExternalURL: strings.TrimRight(c.ExternalURL, "/"), Observe: admin.delivered(), Callbacks: callbacks,
	})
	return deliverer, &httpapi.Webhooks{
		Manager: manager,
		Changed: func(ctx context.Context) error {
			deliverer.Wake()
			return opened.RefreshWebhooks(ctx)
		},
		Test: func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error) {
			return deliverer.Test(ctx, e, runs.NewID)
		},
	}
}

// delivered returns what observes deliveries, nil for nothing.
func (a *admin) delivered() func(deliver.Outcome, time.Duration) {
	if a == nil {
		return nil
	}
	return func(outcome deliver.Outcome, took time.Duration) { a.metrics.Webhooks.Attempted(string(outcome), took) }
}
