package webhooks

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
)

// PrefixWebhook begins the ids of webhooks.
const PrefixWebhook = "webhook"

// The values of Endpoint.DisabledReason.
const (
	ReasonDisabled = "disabled"
	ReasonGone     = "gone"
)

// Settings are what an admin chooses of an endpoint.
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
	// DataKey is the wrapped key under which Secret and PreviousSecret are sealed.
	DataKey        string
	Secret         string
	PreviousSecret string // "" for none
	// PreviousUntilMs is how long deliveries are signed with PreviousSecret, too.
	PreviousUntilMs int64
	DisabledAtMs    int64 // 0: enabled
	DisabledReason  string
	CreatedAtMs     int64
	CreatedBy       string
	UpdatedAtMs     int64
}

// View returns the endpoint as /v1 shows it at a moment.
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

// list is never nil, so that an empty filter is [] on the wire.
func list[T any](given []T) []T {
	if given == nil {
		return []T{}
	}
	return given
}

// Store keeps endpoints. Each method may return an error that wraps runs.ErrUnavailable or
// runs.ErrClosed, and the context's error.
type Store interface {
	// AddWebhook writes a new endpoint, and returns false when there are api.MaxWebhooks.
	AddWebhook(ctx context.Context, e *Endpoint, entry *journal.Entry) (bool, error)
	// Webhooks returns all endpoints, the oldest first.
	Webhooks(ctx context.Context) ([]Endpoint, error)
	// ChangeWebhook writes everything of an endpoint but its id and who made it, when it was not
	// changed since beforeMs, its UpdatedAtMs then. It returns whether it did.
	ChangeWebhook(ctx context.Context, e *Endpoint, beforeMs int64, entry *journal.Entry) (bool, error)
	// RemoveWebhook deletes an endpoint and returns whether there was one.
	RemoveWebhook(ctx context.Context, webhookID string, entry *journal.Entry) (bool, error)
}
