package serve

import (
	"context"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// webhooks returns what delivers to webhooks and what their routes need.
func (s *service) webhooks() (*deliver.Deliverer, *httpapi.Webhooks) {
	manager := webhooks.NewManager(webhooks.Options{
		Store: s.store, CheckURL: s.guard.CheckURL, NewID: runs.NewID, NowMs: nowMs, Sealer: s.sealer(),
	})
	deliverer := deliver.New(s.store, deliver.Options{
		Manager: manager, Client: egress.New(egress.Options{Guard: s.guard}), CallbackClient: egress.New(egress.Options{Guard: s.callbacks}), Logger: s.logger,
		ExternalURL: strings.TrimRight(s.ExternalURL, "/"), Observe: s.admin.delivered(),
		Callbacks: deliver.Callbacks{Sealer: s.sealer(), Sign: s.signatures.Sign, Issuer: httpapi.GrantIssuer(s.ExternalURL)},
	})
	return deliverer, &httpapi.Webhooks{
		Manager: manager, CheckCallback: s.callbacks.CheckURL, CallbackRoles: s.callbackRoles(),
		Changed: func(ctx context.Context) error {
			deliverer.Wake()
			return s.store.RefreshWebhooks(ctx)
		},
		Test: func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error) {
			return deliverer.Test(ctx, e, runs.NewID)
		},
	}
}

// callbackRoles returns the roles of --callback-roles; none for the word "none".
func (c *Command) callbackRoles() []api.Role {
	roles := []api.Role{}
	for _, name := range c.CallbackRoles {
		if name != callbacksOfNobody {
			roles = append(roles, api.Role(name))
		}
	}
	return roles
}

// delivered returns what observes deliveries, nil for nothing.
func (a *admin) delivered() func(deliver.Outcome, time.Duration) {
	if a == nil {
		return nil
	}
	return func(outcome deliver.Outcome, took time.Duration) { a.metrics.Webhooks.Attempted(string(outcome), took) }
}
