package webhooks

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
)

// PrefixWebhook is the prefix of webhook ids.
const PrefixWebhook = "webhook"

// Values of Endpoint.DisabledReason.
const (
	ReasonDisabled = "disabled"
	ReasonGone     = "gone"
)

// Settings are the admin's settings for an endpoint.
type Settings struct {
	URL             string            `json:"url"`
	Description     string            `json:"description,omitempty"`
	Events          []api.EventType   `json:"events,omitempty"`
	Kinds           []api.WebhookKind `json:"kinds,omitempty"`
	AgentIDs        []string          `json:"agent_ids,omitempty"`
	SessionPrefixes []string          `json:"session_prefixes,omitempty"`
	Format          api.WebhookFormat `json:"format"`
	MaxConcurrency  int64             `json:"max_concurrency"`
}

// Endpoint is a row of webhooks.
type Endpoint struct {
	WebhookID string
	Settings  Settings
	// DataKey is the wrapped key that encrypts Secret and PreviousSecret.
	DataKey        string
	Secret         string
	PreviousSecret string // "" for none
	// PreviousUntilMs is until when deliveries are also signed with PreviousSecret.
	PreviousUntilMs int64
	DisabledAtMs    int64 // 0: enabled
	DisabledReason  string
	CreatedAtMs     int64
	CreatedBy       string
	UpdatedAtMs     int64
}

// View returns the endpoint as /v1 shows it at the given time.
func (e *Endpoint) View(nowMs int64) api.Webhook {
	view := api.Webhook{
		WebhookID: e.WebhookID, URL: e.Settings.URL, Description: e.Settings.Description,
		Events: list(e.Settings.Events), Kinds: list(e.Settings.Kinds),
		AgentIDs: list(e.Settings.AgentIDs), SessionPrefixes: list(e.Settings.SessionPrefixes),
		Format: e.Settings.Format, MaxConcurrency: e.Settings.MaxConcurrency,
		Enabled: e.DisabledAtMs == 0, DisabledReason: e.DisabledReason, DisabledAtMs: e.DisabledAtMs,
		CreatedAtMs: e.CreatedAtMs, CreatedBy: e.CreatedBy, UpdatedAtMs: e.UpdatedAtMs,
	}
	if e.PreviousUntilMs > nowMs {
		view.PreviousUntilMs = e.PreviousUntilMs
	}
	return view
}

// list never returns nil, so that an empty filter is [] on the wire.
func list[T any](given []T) []T {
	if given == nil {
		return []T{}
	}
	return given
}

// Store stores endpoints. Every method may return an error that wraps runs.ErrUnavailable
// or runs.ErrClosed, and the context's error.
type Store interface {
	// AddWebhook writes a new endpoint. It returns false if there are api.MaxWebhooks
	// already.
	AddWebhook(ctx context.Context, e *Endpoint, entry *journal.Entry) (bool, error)
	// Webhooks returns all endpoints, oldest first.
	Webhooks(ctx context.Context) ([]Endpoint, error)
	// ChangeWebhook writes an endpoint, except for its id and creator, if its UpdatedAtMs
	// is still beforeMs. It returns whether it did.
	ChangeWebhook(ctx context.Context, e *Endpoint, beforeMs int64, entry *journal.Entry) (bool, error)
	// RemoveWebhook deletes an endpoint and returns whether it existed.
	RemoveWebhook(ctx context.Context, webhookID string, entry *journal.Entry) (bool, error)
}
