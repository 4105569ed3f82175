package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Sealer encrypts the secrets of endpoints; see runs.Sealer.
type Sealer interface {
	NewDataKey() string
	Seal(dataKey, place string, plain []byte) (string, error)
	Open(dataKey, place, sealed string) ([]byte, error)
}

// Options configure a [Manager]. All but Sealer must be set.
type Options struct {
	Store Store
	// Sealer encrypts secrets; without one no endpoint can be created.
	Sealer Sealer
	// CheckURL returns an error if deliveries must not go to the URL.
	CheckURL func(url string) error
	NowMs    func() int64
	NewID    func(prefix string) string
}

// Manager creates and changes endpoints. It is safe for concurrent use.
type Manager struct{ options Options }

// NewManager returns a manager.
func NewManager(options Options) *Manager { return &Manager{options} }

// NowMs returns the current time in ms.
func (m *Manager) NowMs() int64 { return m.options.NowMs() }

// CheckURL returns an error if deliveries must not go to the URL.
func (m *Manager) CheckURL(url string) error { return m.options.CheckURL(url) }

// Create creates an endpoint and returns it with its secret. Errors: invalid_request,
// secrets_not_configured, too_many_webhooks; any error of [Store].
func (m *Manager) Create(ctx context.Context, body *api.WebhookBody, createdBy string) (*Endpoint, string, error) {
	settings := Settings{Format: api.WebhookStandard, MaxConcurrency: api.DefaultWebhookConcurrency}
	var faults refusal.Faults
	if body.URL == nil {
		faults.Add("/url", "is required")
	}
	m.amend(&settings, body, &faults)
	if err := faults.Err(); err != nil {
		return nil, "", err
	}
	if m.options.Sealer == nil {
		return nil, "", errNotConfigured()
	}
	nowMs := m.options.NowMs()
	e := &Endpoint{
		WebhookID: m.options.NewID(PrefixWebhook), Settings: settings, DataKey: m.options.Sealer.NewDataKey(),
		CreatedAtMs: nowMs, CreatedBy: createdBy, UpdatedAtMs: nowMs,
	}
	if body.Enabled != nil && !*body.Enabled {
		e.DisabledAtMs, e.DisabledReason = nowMs, ReasonDisabled
	}
	secret := NewSecret()
	var err error
	if e.Secret, err = m.options.Sealer.Seal(e.DataKey, place(e.WebhookID), []byte(secret)); err != nil {
		return nil, "", fmt.Errorf("seal the secret of a webhook: %w", err)
	}
	added, err := m.options.Store.AddWebhook(ctx, e, entryOf(ctx, api.AuditWebhookCreated, e, nowMs))
	if err == nil && !added {
		err = refusal.New(api.CodeTooManyWebhooks, "there are %d webhooks, which is the most", api.MaxWebhooks)
	}
	if err != nil {
		return nil, "", err
	}
	return e, secret, nil
}

// entryOf returns the audit log's entry for a change of an endpoint. It has only the host
// of the URL, because the rest may be secret.
func entryOf(ctx context.Context, what api.AuditEventType, e *Endpoint, nowMs int64) *journal.Entry {
	event := api.AuditEvent{Type: what, WebhookID: e.WebhookID, Reason: e.DisabledReason}
	if at, err := url.Parse(e.Settings.URL); err == nil {
		event.Host = at.Host
	}
	return auth.ChangeBy(auth.From(ctx), nowMs, event)
}

func errNotConfigured() error {
	return refusal.New(api.CodeSecretsNotConfigured, "the secret of a webhook is kept encrypted, and the service has no key for that: start it with --secret-key-file")
}

// place is the context to which an endpoint's encrypted secrets are bound.
func place(webhookID string) string { return "webhook/" + webhookID }

// List returns all endpoints. Errors: any error of [Store].
func (m *Manager) List(ctx context.Context) ([]Endpoint, error) { return m.options.Store.Webhooks(ctx) }

// Endpoint returns an endpoint. Errors: webhook_not_found; any error of [Store].
func (m *Manager) Endpoint(ctx context.Context, webhookID string) (*Endpoint, error) {
	all, err := m.options.Store.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(e Endpoint) bool { return e.WebhookID == webhookID })
	if at < 0 {
		return nil, unknown()
	}
	return &all[at], nil
}

func unknown() error { return refusal.New(api.CodeWebhookNotFound, "there is no such webhook") }

// Change changes the settings named in the body. Errors: invalid_request,
// webhook_not_found; any error of [Store].
func (m *Manager) Change(ctx context.Context, webhookID string, body *api.WebhookBody) (*Endpoint, error) {
	return m.change(ctx, webhookID, api.AuditWebhookChanged, func(e *Endpoint, nowMs int64) error {
		var faults refusal.Faults
		m.amend(&e.Settings, body, &faults)
		switch {
		case body.Enabled == nil:
		case *body.Enabled:
			e.DisabledAtMs, e.DisabledReason = 0, ""
		case e.DisabledAtMs == 0:
			e.DisabledAtMs, e.DisabledReason = nowMs, ReasonDisabled
		}
		return faults.Err()
	})
}

// Disable disables an endpoint, as it was called, for a reason. If the endpoint was changed since, it changes
// nothing, because the reason may not apply any more. It reports whether the endpoint is disabled now. Errors:
// webhook_not_found; any error of [Store].
func (m *Manager) Disable(ctx context.Context, called *Endpoint, reason string) (bool, error) {
	e, nowMs := *called, m.options.NowMs()
	e.DisabledAtMs, e.DisabledReason = nowMs, reason
	e.UpdatedAtMs = max(nowMs, called.UpdatedAtMs+1)
	changed, err := m.options.Store.ChangeWebhook(ctx, &e, called.UpdatedAtMs, entryOf(ctx, api.AuditWebhookDisabled, &e, nowMs))
	if changed || err != nil {
		return changed, err
	}
	now, err := m.Endpoint(ctx, called.WebhookID)
	return err == nil && now.DisabledAtMs != 0, err
}

// Rotate gives an endpoint a new secret and returns it. For graceMs more, deliveries are
// also signed with the current secret; any older one is dropped. Errors: invalid_request,
// webhook_not_found, secrets_not_configured; any error of [Store].
func (m *Manager) Rotate(ctx context.Context, webhookID string, graceMs int64) (*Endpoint, string, error) {
	if graceMs < 0 || graceMs > api.MaxTokenGraceMs {
		return nil, "", refusal.Invalid(api.Fault{Pointer: "/grace_ms", Detail: "must be between 0 and 604800000"})
	}
	if m.options.Sealer == nil {
		return nil, "", errNotConfigured()
	}
	secret := NewSecret()
	e, err := m.change(ctx, webhookID, api.AuditWebhookRotated, func(e *Endpoint, nowMs int64) error {
		sealed, err := m.options.Sealer.Seal(e.DataKey, place(e.WebhookID), []byte(secret))
		if err != nil {
			return fmt.Errorf("seal the secret of a webhook: %w", err)
		}
		e.PreviousSecret, e.PreviousUntilMs = "", 0
		if graceMs > 0 {
			e.PreviousSecret, e.PreviousUntilMs = e.Secret, nowMs+graceMs
		}
		e.Secret = sealed
		return nil
	})
	return e, secret, err
}

// Rewrap replaces the wrapped data key of an endpoint by the same key, wrapped with another
// one. Errors: as [Manager.Change].
func (m *Manager) Rewrap(ctx context.Context, webhookID, rewrapped string) error {
	_, err := m.change(ctx, webhookID, api.AuditWebhookRewrapped, func(e *Endpoint, _ int64) error {
		e.DataKey = rewrapped
		return nil
	})
	return err
}

// maxChanges bounds the attempts to change an endpoint that others change concurrently.
const maxChanges = 10

func (m *Manager) change(ctx context.Context, webhookID string, what api.AuditEventType, how func(e *Endpoint, nowMs int64) error) (*Endpoint, error) {
	for range maxChanges {
		e, err := m.Endpoint(ctx, webhookID)
		if err != nil {
			return nil, err
		}
		beforeMs := e.UpdatedAtMs
		nowMs := m.options.NowMs()
		if err := how(e, nowMs); err != nil {
			return nil, err
		}
		e.UpdatedAtMs = max(nowMs, beforeMs+1)
		if changed, err := m.options.Store.ChangeWebhook(ctx, e, beforeMs, entryOf(ctx, what, e, nowMs)); err != nil || changed {
			return e, err
		}
	}
	return nil, refusal.New(api.CodeIDConflict, "the webhook is changed by others all the time")
}

// Remove deletes an endpoint and drops its pending deliveries. Errors: webhook_not_found;
// any error of [Store].
func (m *Manager) Remove(ctx context.Context, webhookID string) error {
	if !refusal.ValidID(webhookID) { // Postgres stores no zero byte, and would fail
		return unknown()
	}
	entry := entryOf(ctx, api.AuditWebhookRemoved, &Endpoint{WebhookID: webhookID}, m.options.NowMs())
	removed, err := m.options.Store.RemoveWebhook(ctx, webhookID, entry)
	if err == nil && !removed {
		err = unknown()
	}
	return err
}

// Secrets returns the secrets that sign a delivery at the given time, newest first. Errors:
// secrets_not_configured; any error of the Sealer.
func (m *Manager) Secrets(e *Endpoint, nowMs int64) ([]string, error) {
	if m.options.Sealer == nil {
		return nil, errNotConfigured()
	}
	sealed := []string{e.Secret}
	if e.PreviousSecret != "" && e.PreviousUntilMs > nowMs {
		sealed = append(sealed, e.PreviousSecret)
	}
	for i, one := range sealed {
		plain, err := m.options.Sealer.Open(e.DataKey, place(e.WebhookID), one)
		if err != nil {
			return nil, fmt.Errorf("the secret of the webhook: %w", err)
		}
		sealed[i] = string(plain)
	}
	return sealed, nil
}

// amend applies the settings named in the body, and adds any faults.
func (m *Manager) amend(s *Settings, body *api.WebhookBody, faults *refusal.Faults) {
	if body.URL != nil {
		s.URL = *body.URL
		if err := m.options.CheckURL(s.URL); err != nil {
			faults.Add("/url", "%s", err.Error())
		}
	}
	if body.Description != nil {
		s.Description = *body.Description
		faults.Text("/description", s.Description, api.MaxNameLength)
	}
	if body.Events != nil {
		s.Events = slices.Clone(*body.Events)
		checkList("/events", s.Events, faults, func(event api.EventType) string {
			if !refusal.ValidID(string(event)) {
				return fmt.Sprintf("must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
			}
			return ""
		})
	}
	if body.Kinds != nil {
		s.Kinds = slices.Clone(*body.Kinds)
		checkList("/kinds", s.Kinds, faults, func(kind api.WebhookKind) string {
			switch kind {
			case api.WebhookApproval, api.WebhookQuestion, api.WebhookClarification, api.WebhookRun, api.WebhookWorker:
				return ""
			}
			return "must be approval, question, clarification, run or worker"
		})
	}
	if body.Events != nil || body.Kinds != nil {
		checkEvents(s, body.Events != nil, faults)
	}
	id := func(text string) string {
		if !refusal.ValidID(text) {
			return fmt.Sprintf("must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
		}
		return ""
	}
	if body.AgentIDs != nil {
		s.AgentIDs = slices.Clone(*body.AgentIDs)
		checkList("/agent_ids", s.AgentIDs, faults, id)
	}
	if body.SessionPrefixes != nil {
		s.SessionPrefixes = slices.Clone(*body.SessionPrefixes)
		checkList("/session_prefixes", s.SessionPrefixes, faults, id)
	}
	if body.Format != nil {
		s.Format = cmp.Or(*body.Format, api.WebhookStandard)
		if s.Format != api.WebhookStandard && s.Format != api.WebhookCloudEvents {
			faults.Add("/format", "must be standard or cloudevents")
		}
	}
	if body.MaxConcurrency != nil {
		s.MaxConcurrency = *body.MaxConcurrency
		if s.MaxConcurrency < 1 || s.MaxConcurrency > api.MaxWebhookConcurrency {
			faults.Add("/max_concurrency", "must be between 1 and %d", api.MaxWebhookConcurrency)
		}
	}
}

// checkEvents adds a fault for each event type that is never delivered: a stream frame, a
// type excluded by kinds, and a probable typo, which is neither a type of the service nor
// listed as one that workers append. given reports that the body names the types.
func checkEvents(s *Settings, given bool, faults *refusal.Faults) {
	for i, event := range s.Events {
		fault, kind := "", KindOf(event)
		switch {
		case !refusal.ValidID(string(event)): // already a fault
		case event == "snapshot" || event == "stream_gap":
			fault = "names a frame of streams, which is not an event"
		case slices.Contains(s.Kinds, kind):
		case kind == api.WebhookWorker && event != api.EventOutput:
			fault = "is not a type that the service writes; for one that workers append, kinds must name worker"
		case len(s.Kinds) > 0:
			fault = fmt.Sprintf("is of kind %s, which kinds must name, too", kind)
		}
		switch {
		case fault == "":
		case given:
			faults.Add(fmt.Sprintf("/events/%d", i), "%s %s", event, fault)
		default:
			faults.Add("/kinds", "%s, of events, %s", event, fault)
		}
	}
}

func checkList[T ~string](pointer string, given []T, faults *refusal.Faults, check func(T) string) {
	if len(given) > api.MaxWebhookFilter {
		faults.Add(pointer, "must have at most %d entries", api.MaxWebhookFilter)
		return
	}
	for i, one := range given {
		if fault := check(one); fault != "" {
			faults.Add(fmt.Sprintf("%s/%d", pointer, i), "%s", fault)
		}
	}
}
