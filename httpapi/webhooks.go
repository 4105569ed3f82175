package httpapi

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks"
)

// Webhooks are the dependencies of the webhook routes.
type Webhooks struct {
	Manager *webhooks.Manager
	// CheckCallback returns why a callback URL is not allowed. Nil means the Manager's check.
	CheckCallback func(url string) error
	// CallbackRoles may name callbacks; nil means every role. Without credentials a caller is an
	// admin.
	CallbackRoles []api.Role
	// Changed is called after each change and before its reply, so that later decisions use the new
	// webhooks.
	Changed func(ctx context.Context) error
	// Test posts a test event.
	Test func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error)
}

// webhookManager returns the manager of webhooks. Errors: service_unavailable in an embedded
// service without webhooks.
func (s *Server) webhookManager() (*webhooks.Manager, error) {
	if s.webhooks == nil {
		return nil, refusal.New(wire.CodeServiceUnavailable, "this service keeps no webhooks")
	}
	return s.webhooks.Manager, nil
}

// changedWebhook answers with a webhook once its change is in effect.
func (s *Server) changedWebhook(w http.ResponseWriter, r *http.Request, status int, reply any) error {
	if err := s.webhooks.Changed(r.Context()); err != nil {
		return err
	}
	return wire.Respond(w, r, status, reply)
}

// createWebhook creates a webhook. Only this reply contains its secret.
func (s *Server) createWebhook(w http.ResponseWriter, r *http.Request) error {
	manager, err := s.webhookManager()
	if err != nil {
		return err
	}
	body, err := s.webhookBody(w, r)
	if err != nil {
		return err
	}
	made, secret, err := manager.Create(r.Context(), body, auth.From(r.Context()).Principal)
	if err != nil {
		return err
	}
	locate(w, "/v1/webhooks/", made.WebhookID)
	return s.changedWebhook(w, r, http.StatusCreated, api.WebhookSecret{Webhook: made.View(manager.NowMs()), Secret: secret})
}

func (s *Server) webhookBody(w http.ResponseWriter, r *http.Request) (*api.WebhookBody, error) {
	var body api.WebhookBody
	var faults refusal.Faults
	if err := s.bodies.Decode(w, r, &body, &faults); err != nil {
		return nil, err
	}
	return &body, faults.Err()
}

// listWebhooks answers with all webhooks, at most api.MaxWebhooks.
func (s *Server) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	manager, err := s.webhookManager()
	if err != nil {
		return err
	}
	all, err := manager.List(r.Context())
	if err != nil {
		return err
	}
	reply := api.WebhookList{Data: make([]api.Webhook, len(all))}
	for i := range all {
		reply.Data[i] = all[i].View(manager.NowMs())
	}
	return wire.Respond(w, r, http.StatusOK, reply)
}

// webhook returns the webhook named in the path. Errors: webhook_not_found.
func (s *Server) webhook(r *http.Request) (*webhooks.Endpoint, error) {
	manager, err := s.webhookManager()
	if err != nil {
		return nil, err
	}
	return manager.Endpoint(r.Context(), wire.PathID(r, "webhook_id"))
}

func (s *Server) getWebhook(w http.ResponseWriter, r *http.Request) error {
	found, err := s.webhook(r)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, found.View(s.webhooks.Manager.NowMs()))
}

func (s *Server) changeWebhook(w http.ResponseWriter, r *http.Request) error {
	manager, err := s.webhookManager()
	if err != nil {
		return err
	}
	body, err := s.webhookBody(w, r)
	if err != nil {
		return err
	}
	changed, err := manager.Change(r.Context(), wire.PathID(r, "webhook_id"), body)
	if err != nil {
		return err
	}
	return s.changedWebhook(w, r, http.StatusOK, changed.View(manager.NowMs()))
}

func (s *Server) removeWebhook(w http.ResponseWriter, r *http.Request) error {
	manager, err := s.webhookManager()
	if err != nil {
		return err
	}
	if err := manager.Remove(r.Context(), wire.PathID(r, "webhook_id")); err != nil {
		return err
	}
	if err := s.webhooks.Changed(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rotateWebhook gives a webhook a new secret, which only this reply contains.
func (s *Server) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	manager, err := s.webhookManager()
	if err != nil {
		return err
	}
	var body api.RotateWebhookBody
	var faults refusal.Faults
	if err := s.bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return err
	}
	if err := faults.Err(); err != nil {
		return err
	}
	graceMs := int64(api.DefaultWebhookGraceMs)
	if body.GraceMs != nil {
		graceMs = *body.GraceMs
	}
	rotated, secret, err := manager.Rotate(r.Context(), wire.PathID(r, "webhook_id"), graceMs)
	if err != nil {
		return err
	}
	return s.changedWebhook(w, r, http.StatusOK, api.WebhookSecret{Webhook: rotated.View(manager.NowMs()), Secret: secret})
}

// testWebhook posts a test event and answers with the result.
func (s *Server) testWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := s.decodeNothing(w, r); err != nil {
		return err
	}
	found, err := s.webhook(r)
	if err != nil {
		return err
	}
	result, err := s.webhooks.Test(r.Context(), found)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, result)
}

// replayWebhook makes failed deliveries due again, oldest first.
func (s *Server) replayWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := s.decodeNothing(w, r); err != nil {
		return err
	}
	webhookID := wire.PathID(r, "webhook_id")
	if webhookID != api.CallbackWebhookID {
		if _, err := s.webhook(r); err != nil {
			return err
		}
	}
	givenUp, err := s.store.Effects(r.Context(), runs.EffectQuery{State: api.EffectFailed, WebhookID: webhookID, Limit: api.MaxWebhookReplay + 1})
	if err != nil {
		return err
	}
	var reply api.WebhookReplay
	if len(givenUp) > api.MaxWebhookReplay {
		givenUp, reply.More = givenUp[:api.MaxWebhookReplay], true
	}
	for i := range givenUp {
		retried, err := s.store.Do(r.Context(), &runs.RetryEffect{SessionID: givenUp[i].SessionID, EffectID: givenUp[i].EffectID})
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
