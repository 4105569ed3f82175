package codex

import (
	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// Via is the recorded via of decisions made through this dialect.
const Via = "codex"

// face serves the routes.
type face struct {
	kit.Face
	announcer *announcer
}

// Mount adds the routes of the dialect. It is a [kit.Mount].
func Mount(router chi.Router, services kit.Services) {
	f := &face{
		Face:      kit.Face{Services: services, Via: Via, Refuse: refusalOf},
		announcer: newAnnouncer(services),
	}
	f.Routes(router, []kit.Route{
		{Methods: kit.GetAndHead, Path: "/api/sessions", Handle: f.listSessions},
		{Methods: kit.GetAndHead, Path: "/api/sessions/{sessionId}", Handle: f.showSession},
		{Methods: kit.GetAndHead, Path: "/api/capabilities", Handle: f.showCapabilities},
		{Methods: kit.GetAndHead, Path: "/api/models", Handle: f.showNone},
		{Methods: kit.GetAndHead, Path: "/api/projects", Handle: f.showNone},
		{Methods: kit.GetAndHead, Path: "/api/mcp/servers", Handle: f.showNone},
		{Methods: kit.GetAndHead, Path: "/api/sessions/{sessionId}/approvals", Handle: f.listApprovals},
		{Methods: kit.GetAndHead, Path: "/api/sessions/{sessionId}/tool-input", Handle: f.listToolInputs},
		{Methods: kit.GetAndHead, Path: "/api/sessions/{sessionId}/transcript", Handle: f.showTranscript},
		{Methods: kit.PostOnly, Path: "/api/approvals/{approvalId}/decision", Handle: f.decideApproval},
		{Methods: kit.PostOnly, Path: "/api/tool-input/{requestId}/decision", Handle: f.decideToolInput},
		{Methods: kit.GetOnly, Path: "/api/stream", Handle: f.serveSocket},
	})
}

// sessionPage is the body of the lists and of the transcript.
type sessionPage[T any] struct {
	Data []T `json:"data"`
}
