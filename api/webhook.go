package api

// WebhookFormat says what the body of a delivery looks like.
type WebhookFormat string

// The formats of deliveries.
const (
	// WebhookStandard is {"type", "timestamp", "data"}, as Standard Webhooks proposes.
	WebhookStandard WebhookFormat = "standard"
	// WebhookCloudEvents is a CloudEvents 1.0 event in structured JSON.
	WebhookCloudEvents WebhookFormat = "cloudevents"
)

// WebhookKind groups the types of events for the filter of a webhook.
type WebhookKind string

// The kinds of events. A type that a worker chose is of kind WebhookWorker, and so is output.
const (
	WebhookApproval      WebhookKind = "approval"
	WebhookQuestion      WebhookKind = "question"
	WebhookClarification WebhookKind = "clarification"
	WebhookRun           WebhookKind = "run"
	WebhookWorker        WebhookKind = "worker"
)

// Webhook is an endpoint on the wire, without its secret.
type Webhook struct {
	WebhookID   string `json:"webhook_id"`
	URL         string `json:"url"`
	Description string `json:"description"`
	// The filters: an event is delivered when it passes each; an empty one passes everything,
	// but without events and kinds nothing of kind WebhookWorker.
	Events          []EventType   `json:"events"`
	Kinds           []WebhookKind `json:"kinds"`
	AgentIDs        []string      `json:"agent_ids"`
	SessionPrefixes []string      `json:"session_prefixes"`
	Format          WebhookFormat `json:"format"`
	// MaxConcurrency is how many deliveries each replica sends it at once.
	MaxConcurrency int64 `json:"max_concurrency"`
	Enabled        bool  `json:"enabled"`
	// DisabledReason is "gone" when the endpoint answered 410, "disabled" when an admin did it.
	DisabledReason string `json:"disabled_reason,omitempty"`
	DisabledAtMs   int64  `json:"disabled_at_ms,omitzero"`
	// PreviousUntilMs is how long deliveries are signed with the secret before the last rotation,
	// too; 0 when they are not.
	PreviousUntilMs int64  `json:"previous_until_ms,omitzero"`
	CreatedAtMs     int64  `json:"created_at_ms"`
	CreatedBy       string `json:"created_by"`
	UpdatedAtMs     int64  `json:"updated_at_ms"`
}

// WebhookBody describes a webhook, or what changes of it: a member that is absent stays as it is. A
// list that is given replaces the one before; an empty list is no filter. A member that is not
// described is refused: a filter with a typing error in it would let everything pass.
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

// WebhookSecret is the reply that shows the secret of a webhook, once: "whsec_" and base64.
type WebhookSecret struct {
	Webhook Webhook `json:"webhook"`
	Secret  string  `json:"secret"`
}

// WebhookList has all webhooks, the oldest first.
type WebhookList struct {
	Data []Webhook `json:"data"`
}

// RotateWebhookBody asks for a new secret. Deliveries are signed with the present one, too, for
// GraceMs more: 0 to MaxTokenGraceMs, DefaultWebhookGraceMs when absent.
type RotateWebhookBody struct {
	GraceMs *int64 `json:"grace_ms,omitzero"`
}

// WebhookTest says what an endpoint answered to a test event. Nothing of its body is kept.
type WebhookTest struct {
	Delivered  bool   `json:"delivered"`
	MessageID  string `json:"message_id"`
	Status     int64  `json:"status,omitzero"` // 0: there was no answer
	Error      string `json:"error,omitempty"`
	DurationMs int64  `json:"duration_ms"`
}

// WebhookReplay says how many deliveries that were given up are due again.
type WebhookReplay struct {
	Replayed int64 `json:"replayed"`
	// More says that there are others: call again.
	More bool `json:"more"`
}

// Limits of webhooks.
const (
	// MaxWebhooks bounds the webhooks of a service.
	MaxWebhooks = 32
	// MaxWebhookURL is in bytes.
	MaxWebhookURL = 2048
	// MaxWebhookFilter bounds each list of a filter.
	MaxWebhookFilter = 64
	// DefaultWebhookConcurrency and MaxWebhookConcurrency bound the deliveries at once.
	DefaultWebhookConcurrency = 4
	MaxWebhookConcurrency     = 32
	// DefaultWebhookGraceMs is a day.
	DefaultWebhookGraceMs = 86_400_000
	// MaxWebhookBody is the longest body of a delivery, in bytes: an event that would be longer is
	// replaced by its digest and where to read it.
	MaxWebhookBody = 256 << 10
	// MaxWebhookReplay is how many deliveries one call makes due again.
	MaxWebhookReplay = 1000
)
