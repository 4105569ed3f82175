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

// Webhooks is what the routes of webhooks need.
type Webhooks struct {
	Manager *webhooks.Manager
	// CheckCallback returns why a request's callback must not name a URL; the Manager's check when nil.
	CheckCallback func(url string) error
	// CallbackRoles may name callbacks; every role when nil. Without credentials a caller is an admin.
	CallbackRoles []api.Role
	// Changed is called after each change, before it is answered: from then on decisions owe what the
	// webhooks of now want.
	Changed func(ctx context.Context) error
	// Test posts a test event.
	Test func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error)
}

// webhookManager returns what manages webhooks. Errors: service_unavailable when the service was
// started without, as programs may that embed it.
func (s *Server) webhookManager() (*webhooks.Manager, error) {
	if s.webhooks == nil {
		return nil, refusal.New(wire.CodeServiceUnavailable, "this service keeps no webhooks")
	}
	return s.webhooks.Manager, nil
}

// changed answers with a webhook once its change counts.
func (s *Server) changedWebhook(w http.ResponseWriter, r *http.Request, status int, reply any) error {
	if err := s.webhooks.Changed(r.Context()); err != nil {
		return err
	}
	return wire.Respond(w, r, status, reply)
}

// createWebhook makes a webhook. Its secret is in this reply and nowhere else.
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

// listWebhooks answers with all of them: there are at most api.MaxWebhooks.
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

// webhook returns the webhook that a call names. Errors: webhook_not_found.
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

// rotateWebhook gives a webhook another secret, which is in this reply and nowhere else.
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

// testWebhook posts a test event and answers with what came of it.
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

// replayWebhook makes what was given up due again, the oldest first.
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
