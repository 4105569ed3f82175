package hermes

import (
	"net/http"
	"sync/atomic"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// Via is how a decision that was made here is recorded.
const Via = "hermes"

// Mount adds the six routes of the dialect. It is a [dialects.Mount].
func Mount(router chi.Router, services dialects.Services) {
	f := &face{services: services}
	get := func(path string, handler http.HandlerFunc) {
		router.Method(http.MethodGet, path, handler)
		router.Method(http.MethodHead, path, handler)
	}
	get("/api/approval/pending", f.pendingApproval)
	get("/api/clarify/pending", f.pendingClarification)
	// Without HEAD: a stream has no headers that tell anything, and no end.
	router.Method(http.MethodGet, "/api/approval/stream", f.stream(&approvalQueue))
	router.Method(http.MethodGet, "/api/clarify/stream", f.stream(&clarifyQueue))
	router.Method(http.MethodPost, "/api/approval/respond", http.HandlerFunc(f.respondApproval))
	router.Method(http.MethodPost, "/api/clarify/respond", http.HandlerFunc(f.respondClarification))
}

// face answers the routes.
type face struct {
	services dialects.Services
	boards   boards
	// strangers counts the streams of sessions that are not there.
	strangers atomic.Int64
}

// sessionOf returns the first session_id of the query that is not empty. The
// original knows no empty parameters.
func sessionOf(r *http.Request) string {
	for _, id := range r.URL.Query()["session_id"] {
		if id != "" {
			return id
		}
	}
	return ""
}

// actor returns who decides. Errors: bad_request.
func actor(r *http.Request) (runs.Actor, error) {
	who, err := wire.Actor(r.Header)
	who.Via = Via
	return who, err
}
