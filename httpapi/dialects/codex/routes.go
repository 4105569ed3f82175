package codex

import (
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// Via is the recorded via of decisions made through this dialect.
const Via = "codex"

// face serves the routes.
type face struct {
	kit.Dialect
	announcer *announcer
}

// Mount returns the dialect. It is a [kit.Mount].
func Mount(services kit.Services) wire.Face {
	f := &face{
		Dialect:   kit.Dialect{Services: services, Via: Via, Refuse: refusalOf},
		announcer: newAnnouncer(services),
	}
	return f.Face(
		wire.Get("/api/sessions", auth.Read, f.listSessions),
		wire.Get("/api/sessions/{sessionId}", auth.Read, f.showSession),
		wire.Get("/api/capabilities", auth.Read, f.showCapabilities),
		wire.Get("/api/models", auth.Read, f.showNone),
		wire.Get("/api/projects", auth.Read, f.showNone),
		wire.Get("/api/mcp/servers", auth.Read, f.showNone),
		wire.Get("/api/sessions/{sessionId}/approvals", auth.Read, f.listApprovals),
		wire.Get("/api/sessions/{sessionId}/tool-input", auth.Read, f.listToolInputs),
		wire.Get("/api/sessions/{sessionId}/transcript", auth.Read, f.showTranscript),
		wire.Post("/api/approvals/{approvalId}/decision", auth.Decide, f.decideApproval),
		wire.Post("/api/tool-input/{requestId}/decision", auth.Decide, f.decideToolInput),
		wire.Stream("/api/stream", auth.Read, f.serveSocket),
	)
}

// sessionPage is the body of the lists and of the transcript.
type sessionPage[T any] struct {
	Data []T `json:"data"`
}
