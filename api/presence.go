package api

const (
	// PresenceMs is how long a person counts as looking at their inbox after a call says so.
	PresenceMs = 90_000
	// MaxViewers is how many people a stream of the inbox names in a ViewingView.
	MaxViewers = 200
)

// PresenceBody says whether the caller is looking at their inbox.
type PresenceBody struct {
	_       struct{} `body:"closed"`
	Visible bool     `json:"visible" body:"required"`
	// Viewing is the handle of the request that the caller has open there, "" for none; others who may decide it can see
	// that. Nil leaves what a call before said, so that a second device does not end it.
	Viewing *string `json:"viewing,omitempty"`
}

// ViewingView says who has which requests open in their inbox, without its reader. It replaces the one before.
type ViewingView struct {
	Requests []ViewedRequest `json:"requests"`
}

// ViewedRequest is a request that people have open.
type ViewedRequest struct {
	Handle string `json:"handle"`
	// Viewing has their principals.
	Viewing []string `json:"viewing"`
}
