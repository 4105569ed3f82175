package hermes

import (
	"net/http"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// Via is the recorded via of decisions made through this dialect.
const Via = "hermes"

// face serves the routes.
type face struct {
	kit.Dialect
	boards boards
	// idleSessions counts the streams of unknown and ended sessions.
	idleSessions atomic.Int64
}

// Mount returns the dialect with its six routes. It is a [kit.Mount].
func Mount(services kit.Services) wire.Face {
	f := &face{Dialect: kit.Dialect{Services: services, Via: Via, Refuse: refusalOf, Respond: respondPretty}}
	return f.Face(
		wire.Get("/api/approval/pending", auth.Read, f.showApproval),
		wire.Get("/api/clarify/pending", auth.Read, f.showClarification),
		wire.Stream("/api/approval/stream", auth.Read, f.stream(&approvalQueue)),
		wire.Stream("/api/clarify/stream", auth.Read, f.stream(&clarifyQueue)),
		wire.Post("/api/approval/respond", auth.Decide, f.respondApproval),
		wire.Post("/api/clarify/respond", auth.Decide, f.respondClarification),
	)
}

// sessionOf returns the first nonempty session_id of the query, or "": an empty parameter counts as
// absent.
func sessionOf(r *http.Request) string {
	for _, id := range r.URL.Query()["session_id"] {
		if id != "" {
			return id
		}
	}
	return ""
}
