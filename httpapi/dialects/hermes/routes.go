package hermes

import (
	"net/http"
	"sync/atomic"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// Via is how a decision that was made here is recorded.
const Via = "hermes"

// face serves the routes.
type face struct {
	kit.Face
	boards boards
	// unknownSessions counts the streams of sessions that do not exist.
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

// sessionOf returns the first session_id of the query that is not empty, "" when there
// is none: an empty parameter counts as absent.
func sessionOf(r *http.Request) string {
	for _, id := range r.URL.Query()["session_id"] {
		if id != "" {
			return id
		}
	}
	return ""
}
