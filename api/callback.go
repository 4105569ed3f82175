package api

// Callback is where what becomes of a request is posted to, for those who run no worker
// (docs/webhooks.md#callbacks). It is kept encrypted and never shown again.
type Callback struct {
	_ struct{} `body:"closed"`
	// URL is as that of a webhook, at most MaxWebhookURL bytes.
	URL string `json:"url" body:"required"`
	// Token is sent as the bearer token, and signs what is posted: MinCallbackToken to MaxCallbackToken
	// visible ASCII characters.
	Token string `json:"token" body:"required"`
}

// CallbackWebhookID is the webhook_id of the deliveries to callbacks. No webhook has it.
const CallbackWebhookID = "callback"

// Limits of callbacks.
const (
	MinCallbackToken = 16
	MaxCallbackToken = 256
	// MaxCallbackGrantMs is how long the grant that is posted holds: 15 minutes.
	MaxCallbackGrantMs = 900_000
)

// SettledRequest is what is posted to a callback: the request with what was recorded. Both are left out
// when they are too long (Truncated), and are to be read at URL.
type SettledRequest struct {
	SessionID string      `json:"session_id"`
	AgentID   string      `json:"agent_id"`
	RunID     string      `json:"run_id"`
	RequestID string      `json:"request_id"`
	Handle    string      `json:"handle"`
	Kind      RequestKind `json:"kind"`
	// Request is an [ApprovalRequest] or a [UserQuestionRequest], by Kind. What is sensitive is masked.
	Request    JSON        `json:"request,omitzero"`
	Resolution *Resolution `json:"resolution,omitempty"`
	Truncated  bool        `json:"truncated,omitzero"`
	URL        string      `json:"url"`
}
