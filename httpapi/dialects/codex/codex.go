package codex

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// Via is the way by which what is decided here has come about.
const Via = "codex"

// Options set up the dialect.
type Options struct {
	// ReviewHook says that somebody reviews approvals of file changes: then listing them
	// owes a review of each, once (codex.md 3.3.5).
	ReviewHook bool
}

// New returns the dialect, to be mounted.
func New(options Options) kit.Mount {
	return func(router chi.Router, services kit.Services) {
		f := &face{Services: services, announcer: newAnnouncer(services)}
		if options.ReviewHook {
			f.reviews = newReviews(services)
		}
		get := func(path string, handler wire.HandlerFunc) {
			router.Method(http.MethodGet, path, f.answer(handler))
			router.Method(http.MethodHead, path, f.answer(handler))
		}
		post := func(path string, handler wire.HandlerFunc) { router.Method(http.MethodPost, path, f.answer(handler)) }

		get("/api/sessions/{sessionId}/approvals", f.listApprovals)
		get("/api/sessions/{sessionId}/tool-input", f.listToolInputs)
		get("/api/sessions/{sessionId}/transcript", f.showTranscript)
		post("/api/approvals/{approvalId}/decision", f.decideApproval)
		post("/api/tool-input/{requestId}/decision", f.decideToolInput)
		router.Method(http.MethodGet, "/api/stream", f.answer(f.serveSocket))
	}
}

// face is the dialect as it is mounted.
type face struct {
	kit.Services
	announcer *announcer
	// reviews is nil when nobody reviews.
	reviews *reviews
}

// sessionPage is what the lists and the transcript answer with.
type sessionPage[T any] struct {
	Data []T `json:"data"`
}
