package api

// WebhookFormat is the format of a delivery's body.
type WebhookFormat string

// Formats of deliveries.
const (
	// WebhookStandard is {"type", "timestamp", "data"}, as Standard Webhooks proposes.
	WebhookStandard WebhookFormat = "standard"
	// WebhookCloudEvents is a CloudEvents 1.0 event in structured JSON.
	WebhookCloudEvents WebhookFormat = "cloudevents"
)

// WebhookKind groups event types for a webhook's filter.
type WebhookKind string

// Kinds of events. Types that workers choose, and output, are of kind WebhookWorker.
const (
	WebhookApproval      WebhookKind = "approval"
	WebhookQuestion      WebhookKind = "question"
	WebhookClarification WebhookKind = "clarification"
	WebhookRun           WebhookKind = "run"
	WebhookWorker        WebhookKind = "worker"
)

// Webhook is a webhook without its secret.
type Webhook struct {
	WebhookID   string `json:"webhook_id"`
	URL         string `json:"url"`
	Description string `json:"description"`
	// The filters. An event is delivered when it passes all of them; an empty filter passes
	// everything. With neither events nor kinds, events of kind WebhookWorker are not delivered.
	Events          []EventType   `json:"events"`
	Kinds           []WebhookKind `json:"kinds"`
	AgentIDs        []string      `json:"agent_ids"`
	SessionPrefixes []string      `json:"session_prefixes"`
	Format          WebhookFormat `json:"format"`
	// MaxConcurrency is the maximum number of concurrent deliveries from each replica.
	MaxConcurrency int64 `json:"max_concurrency"`
	Enabled        bool  `json:"enabled"`
	// DisabledReason is "gone" after the endpoint answered 410, and "disabled" after an admin
	// disabled it.
	DisabledReason string `json:"disabled_reason,omitempty"`
	DisabledAtMs   int64  `json:"disabled_at_ms,omitzero"`
	// PreviousUntilMs is the time until which deliveries are also signed with the secret from
	// before the last rotation; 0 when they are not.
	PreviousUntilMs int64  `json:"previous_until_ms,omitzero"`
	CreatedAtMs     int64  `json:"created_at_ms"`
	CreatedBy       string `json:"created_by"`
	UpdatedAtMs     int64  `json:"updated_at_ms"`
}

// WebhookBody describes a webhook, or changes to one: an absent member keeps its value. A list
// replaces the previous list, and an empty list removes the filter. Unknown members are refused,
// because a misspelt filter would let everything pass.
type WebhookBody struct {
	_ struct{} `body:"closed"`

	URL             *string        `json:"url,omitzero"`
	Description     *string        `json:"description,omitzero"`
	Events          *[]EventType   `json:"events,omitzero"`
	Kinds           *[]WebhookKind `json:"kinds,omitzero"`
	AgentIDs        *[]string      `json:"agent_ids,omitzero"`
	SessionPrefixes *[]string      `json:"session_prefixes,omitzero"`
	Format          *WebhookFormat `json:"format,omitzero"`
	MaxConcurrency  *int64         `json:"max_concurrency,omitzero"`
	Enabled         *bool          `json:"enabled,omitzero"`
}

// WebhookSecret is the reply that contains a webhook's secret, once: "whsec_" and base64.
type WebhookSecret struct {
	Webhook Webhook `json:"webhook"`
	Secret  string  `json:"secret"`
}

// WebhookList has all webhooks, oldest first.
type WebhookList struct {
	Data []Webhook `json:"data"`
}

// RotateWebhookBody requests a new secret. For GraceMs, deliveries are signed with the old one as
// well: 0 to MaxTokenGraceMs, DefaultWebhookGraceMs when absent.
type RotateWebhookBody struct {
	GraceMs *int64 `json:"grace_ms,omitzero"`
}

// WebhookTest is the endpoint's response to a test event. Its body is not kept.
type WebhookTest struct {
	Delivered  bool   `json:"delivered"`
	MessageID  string `json:"message_id"`
	Status     int64  `json:"status,omitzero"` // 0: no response
	Error      string `json:"error,omitempty"`
	DurationMs int64  `json:"duration_ms"`
}

// WebhookReplay counts the failed deliveries that are due again.
type WebhookReplay struct {
	Replayed int64 `json:"replayed"`
	// More is set when there are more: call again.
	More bool `json:"more"`
}

// Limits of webhooks.
const (
	// MaxWebhooks is the maximum number of webhooks of a service.
	MaxWebhooks = 32
	// MaxWebhookURL is the maximum length of a URL, in bytes.
	MaxWebhookURL = 2048
	// MaxWebhookFilter is the maximum length of each filter list.
	MaxWebhookFilter = 64
	// DefaultWebhookConcurrency and MaxWebhookConcurrency limit concurrent deliveries.
	DefaultWebhookConcurrency = 4
	MaxWebhookConcurrency     = 32
	// DefaultWebhookGraceMs is one day.
	DefaultWebhookGraceMs = 86_400_000
	// MaxWebhookBody is the maximum length of a delivery's body, in bytes. A longer event is
	// replaced by its digest and its URL.
	MaxWebhookBody = 256 << 10
	// MaxWebhookReplay is the maximum number of deliveries that one call makes due again.
	MaxWebhookReplay = 1000
)
