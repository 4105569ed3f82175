package hermes

import (
	"net/http"
	"sync/atomic"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// Via is the recorded via of decisions made through this dialect.
const Via = "hermes"

// face serves the routes.
type face struct {
	kit.Face
	boards boards
	// unknownSessions counts the streams of unknown sessions.
	unknownSessions atomic.Int64
}

// Mount adds the six routes of the dialect. It is a [kit.Mount].
func Mount(router chi.Router, services kit.Services) {
	f := &face{Face: kit.Face{Services: services, Via: Via, Refuse: refusalOf, Respond: respondPretty}}
	f.Routes(router, []kit.Route{
		{Methods: kit.GetAndHead, Path: "/api/approval/pending", Handle: f.showApproval},
		{Methods: kit.GetAndHead, Path: "/api/clarify/pending", Handle: f.showClarification},
		{Methods: kit.GetOnly, Path: "/api/approval/stream", Handle: f.stream(&approvalQueue)},
		{Methods: kit.GetOnly, Path: "/api/clarify/stream", Handle: f.stream(&clarifyQueue)},
		{Methods: kit.PostOnly, Path: "/api/approval/respond", Handle: f.respondApproval},
		{Methods: kit.PostOnly, Path: "/api/clarify/respond", Handle: f.respondClarification},
	})
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
