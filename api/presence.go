package api

// PresenceMs is how long a person counts as looking at their inbox after a call says so.
const PresenceMs = 90_000

// PresenceBody says whether the caller is looking at their inbox.
type PresenceBody struct {
	_       struct{} `body:"closed"`
	Visible bool     `json:"visible" body:"required"`
}
