// Package hooks serves the webhooks: who gets which events, with which secret. It delivers nothing: package
// webhooks/deliver does.
package hooks

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks"
)

// Service is what the routes need.
type Service struct {
	Manager *webhooks.Manager
	// CheckCallback returns why a callback URL is not allowed. Nil means the Manager's check.
	CheckCallback func(url string) error
	// CallbackRoles may name callbacks; nil means every role. Without credentials a caller is an
	// admin.
	CallbackRoles []api.Role
	// Changed is called after each change and before its reply, so that later decisions use the new
	// webhooks, unless it fails or takes longer than a second.
	Changed func(ctx context.Context) error
	// Test posts a test event.
	Test func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error)
}

// hooks has the handlers. webhooks is nil where the service keeps none.
type hooks struct {
	store    runs.Service
	bodies   *wire.Bodies
	webhooks *Service
	logger   *slog.Logger
}

// Routes returns the routes. service is nil where no webhooks are kept.
func Routes(store runs.Service, bodies *wire.Bodies, service *Service, logger *slog.Logger) []wire.Route {
	h := &hooks{store, bodies, service, logger}
	return []wire.Route{
		wire.Post("/v1/webhooks", auth.Administer, h.managed(h.create)),
		wire.Get("/v1/webhooks", auth.Administer, h.managed(wire.Reply(http.StatusOK, h.list))),
		wire.Get("/v1/webhooks/{webhook_id}", auth.Administer, wire.Reply(http.StatusOK, h.get)),
		wire.Post("/v1/webhooks/{webhook_id}", auth.Administer, h.managed(wire.ReplyTo(bodies, http.StatusOK, h.change))),
		wire.Delete("/v1/webhooks/{webhook_id}", auth.Administer, h.managed(wire.NoContent(h.remove))),
		wire.Post("/v1/webhooks/{webhook_id}/rotate", auth.Administer, h.managed(h.rotate)),
		wire.Post("/v1/webhooks/{webhook_id}/test", auth.Administer, h.test),
		wire.Post("/v1/webhooks/{webhook_id}/replay", auth.Administer, h.replay),
	}
}

// manager returns the manager of webhooks. Errors: service_unavailable in an embedded
// service without webhooks.
func (h *hooks) manager() (*webhooks.Manager, error) {
	if h.webhooks == nil {
		return nil, refusal.New(wire.CodeServiceUnavailable, "this service keeps no webhooks")
	}
	return h.webhooks.Manager, nil
}

// managed returns the handler of a route that needs the manager.
func (h *hooks) managed(handle wire.HandlerFunc) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := h.manager(); err != nil {
			return err
		}
		return handle(w, r)
	}
}

// changed is called after a change and before its reply. The change is committed, and only the reply may have a secret. So
// a failure is logged, and a slow database is not waited for: the webhooks are read again within a second.
func (h *hooks) changed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := h.webhooks.Changed(ctx); err != nil {
		h.logger.WarnContext(ctx, "webhooks cannot be read after a change", slog.Any("error", err))
	}
}

// create creates a webhook. Only this reply contains its secret.
func (h *hooks) create(w http.ResponseWriter, r *http.Request) error {
	var body api.WebhookBody
	if err := h.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	manager := h.webhooks.Manager
	made, secret, err := manager.Create(r.Context(), &body, auth.From(r.Context()).Principal)
	if err != nil {
		return err
	}
	wire.Locate(w, "/v1/webhooks/", made.WebhookID)
	h.changed(r.Context())
	return wire.Respond(w, r, http.StatusCreated, api.WebhookSecret{Webhook: made.View(manager.NowMs()), Secret: secret})
}

// list returns all webhooks, at most api.MaxWebhooks.
func (h *hooks) list(r *http.Request) (api.WebhookList, error) {
	if err := (&paging.List{}).CheckFilters(wire.Query(r), ""); err != nil {
		return api.WebhookList{}, err
	}
	manager := h.webhooks.Manager
	all, err := manager.List(r.Context())
	reply := api.WebhookList{Data: make([]api.Webhook, len(all))}
	for i := range all {
		reply.Data[i] = all[i].View(manager.NowMs())
	}
	return reply, err
}

// find returns the webhook named in the path. Errors: webhook_not_found.
func (h *hooks) find(r *http.Request) (*webhooks.Endpoint, error) {
	manager, err := h.manager()
	if err != nil {
		return nil, err
	}
	return manager.Endpoint(r.Context(), wire.PathID(r, "webhook_id"))
}

func (h *hooks) get(r *http.Request) (api.Webhook, error) {
	found, err := h.find(r)
	if err != nil {
		return api.Webhook{}, err
	}
	return found.View(h.webhooks.Manager.NowMs()), nil
}

func (h *hooks) change(r *http.Request, body *api.WebhookBody) (api.Webhook, error) {
	manager := h.webhooks.Manager
	changed, err := manager.Change(r.Context(), wire.PathID(r, "webhook_id"), body)
	if err != nil {
		return api.Webhook{}, err
	}
	h.changed(r.Context())
	return changed.View(manager.NowMs()), nil
}

func (h *hooks) remove(r *http.Request) error {
	if err := h.webhooks.Manager.Remove(r.Context(), wire.PathID(r, "webhook_id")); err != nil {
		return err
	}
	h.changed(r.Context())
	return nil
}

// rotate gives a webhook a new secret, which only this reply contains.
func (h *hooks) rotate(w http.ResponseWriter, r *http.Request) error {
	var body api.RotateWebhookBody
	if err := h.bodies.DecodeOptional(w, r, &body, nil); err != nil {
		return err
	}
	graceMs := int64(api.DefaultWebhookGraceMs)
	if body.GraceMs != nil {
		graceMs = *body.GraceMs
	}
	manager := h.webhooks.Manager
	rotated, secret, err := manager.Rotate(r.Context(), wire.PathID(r, "webhook_id"), graceMs)
	if err != nil {
		return err
	}
	h.changed(r.Context())
	return wire.Respond(w, r, http.StatusOK, api.WebhookSecret{Webhook: rotated.View(manager.NowMs()), Secret: secret})
}

// test posts a test event and answers with the result.
func (h *hooks) test(w http.ResponseWriter, r *http.Request) error {
	if err := h.bodies.DecodeNothing(w, r); err != nil {
		return err
	}
	found, err := h.find(r)
	if err != nil {
		return err
	}
	result, err := h.webhooks.Test(r.Context(), found)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, result)
}

// replay makes failed deliveries due again, oldest first.
func (h *hooks) replay(w http.ResponseWriter, r *http.Request) error {
	if err := h.bodies.DecodeNothing(w, r); err != nil {
		return err
	}
	webhookID := wire.PathID(r, "webhook_id")
	if webhookID != api.CallbackWebhookID {
		if _, err := h.find(r); err != nil {
			return err
		}
	}
	givenUp, err := h.store.Reader(r.Context()).Effects(r.Context(), reads.EffectQuery{State: api.EffectFailed, WebhookID: webhookID, Limit: api.MaxWebhookReplay + 1})
	if err != nil {
		return err
	}
	var reply api.WebhookReplay
	if len(givenUp) > api.MaxWebhookReplay {
		givenUp, reply.More = givenUp[:api.MaxWebhookReplay], true
	}
	for i := range givenUp {
		retried, err := h.store.Do(r.Context(), &runs.RetryEffect{SessionID: givenUp[i].SessionID, EffectID: givenUp[i].EffectID})
		switch {
		case refusal.CodeOf(err) == api.CodeEffectNotFound || refusal.CodeOf(err) == api.CodeSessionNotFound: // deleted meanwhile
		case err != nil:
			return err
		case !retried.Existing:
			reply.Replayed++
		}
	}
	return wire.Respond(w, r, http.StatusOK, reply)
}
