package api

// Callback is the endpoint that receives the outcome of a request, for callers that run no worker
// (docs/webhooks.md#callbacks). It is stored encrypted and never shown again.
type Callback struct {
	_ struct{} `body:"closed"`
	// URL follows the rules for webhook URLs, at most MaxWebhookURL bytes.
	URL string `json:"url" body:"required"`
	// Token is sent as the bearer token and signs the delivery: MinCallbackToken to
	// MaxCallbackToken visible ASCII characters.
	Token string `json:"token" body:"required"`
}

// CallbackWebhookID is the webhook_id of callback deliveries. No webhook has this id.
const CallbackWebhookID = "callback"

// Limits of callbacks.
const (
	MinCallbackToken = 16
	MaxCallbackToken = 256
	// MaxCallbackGrantMs is the lifetime of the grant in a callback: 15 minutes.
	MaxCallbackGrantMs = 900_000
)

// SettledRequest is the body of a callback: the request and its resolution. When they are too long,
// both are omitted (Truncated); read them at URL.
type SettledRequest struct {
	SessionID string      `json:"session_id"`
	AgentID   string      `json:"agent_id"`
	RunID     string      `json:"run_id"`
	RequestID string      `json:"request_id"`
	Handle    string      `json:"handle"`
	Kind      RequestKind `json:"kind"`
	// Request is an [ApprovalRequest] or a [UserQuestionRequest], by Kind. Sensitive values are
	// masked.
	Request    JSON        `json:"request,omitzero"`
	Resolution *Resolution `json:"resolution,omitempty"`
	Truncated  bool        `json:"truncated,omitzero"`
	URL        string      `json:"url"`
}
