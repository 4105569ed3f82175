package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/multiplex"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// route is a path of openapi.yaml with one of its methods.
type route struct {
	method  string
	path    string
	handler wire.HandlerFunc
}

// Methods of routes. A get also serves HEAD. getOnly does not: a stream never ends and has no
// useful headers, and reading a mailbox leases messages.
const (
	get     = "GET and HEAD"
	getOnly = http.MethodGet
	post    = http.MethodPost
	patch   = http.MethodPatch
	del     = http.MethodDelete
)

// routes lists every route except the dialects' routes, with the paths of openapi.yaml.
func (s *Server) routes() []route {
	return []route{
		{post, "/v1/sessions", s.createSession},
		{get, "/v1/sessions", s.listSessions},
		{get, "/v1/sessions/{session_id}", s.getSession},
		{patch, "/v1/sessions/{session_id}", s.amendSession},
		{post, "/v1/sessions/{session_id}/interrupt", s.interruptSession},
		{post, "/v1/sessions/{session_id}/end", s.endSession},
		{post, "/v1/sessions/{session_id}/redact", s.redactEvents},
		{get, "/v1/sessions/{session_id}/events", s.listSessionEvents},
		{getOnly, "/v1/sessions/{session_id}/stream", s.streamSession},
		{post, "/v1/sessions/{session_id}/runs", s.createSessionRun},
		{post, "/v1/sessions/{session_id}/input", s.inputSession},
		{get, "/v1/sessions/{session_id}/approvals", s.listApprovals},
		{post, "/v1/sessions/{session_id}/approvals", s.inSession(s.resolveApprovals)},
		{post, "/v1/sessions/{session_id}/approval-runs", s.onActiveRun(s.resolveApprovals)},
		{get, "/v1/sessions/{session_id}/questions", s.listQuestions},
		{post, "/v1/sessions/{session_id}/questions", s.inSession(s.answerQuestion)},
		{getOnly, "/v1/sessions/{session_id}/mailbox", s.readMailbox},
		{get, "/v1/sessions/{session_id}/mailbox/dead-letter", s.readDeadLetters},
		{post, "/v1/sessions/{session_id}/mailbox/{message_id}/ack", s.acknowledgeMessage},
		{post, "/v1/sessions/{session_id}/mailbox/dead-letter/{message_id}/replay", s.replayMessage},
		{post, "/v1/sessions/{session_id}/effects/{effect_id}/retry", s.retryEffect},

		{post, "/v1/runs", s.createRun},
		{get, "/v1/runs", s.listRuns},
		{post, "/v1/runs/claim", s.claimRuns},
		{get, "/v1/runs/{run_id}", s.getRun},
		{get, "/v1/runs/{run_id}/explain", s.explainRun},
		{get, "/v1/runs/{run_id}/events", s.listRunEvents},
		{get, "/v1/runs/{run_id}/outputs", s.listOutputs},
		{getOnly, "/v1/runs/{run_id}/stream", s.streamRun},
		{post, "/v1/runs/{run_id}/cancel", s.cancelRun},
		{post, "/v1/runs/{run_id}/retry", s.retryRun},
		{post, "/v1/runs/{run_id}/approvals", s.onRun(s.resolveApprovals)},
		{post, "/v1/runs/{run_id}/questions", s.onRun(s.answerQuestion)},
		{post, "/v1/runs/{run_id}/questions/{request_id}/cancel", s.cancelQuestion},

		{post, "/v1/runs/{run_id}/claim", s.claimRun},
		{post, "/v1/runs/{run_id}/heartbeat", s.heartbeat},
		{post, "/v1/runs/{run_id}/suspend", s.suspend},
		{get, "/v1/runs/{run_id}/resume", s.awaitResume},
		{post, "/v1/runs/{run_id}/requests/{request_id}/withdraw", onLease(s, bodyRequired, withdraw)},
		{post, "/v1/runs/{run_id}/clarifications", s.askParent},
		{post, "/v1/runs/{run_id}/events", s.appendEvents},
		{post, "/v1/runs/{run_id}/complete", onLease(s, bodyRequired, complete)},
		{post, "/v1/runs/{run_id}/fail", onLease(s, bodyRequired, fail)},
		{post, "/v1/runs/{run_id}/release", onLease(s, bodyOptional, release)},

		{post, "/v1/grants/redeem", s.redeemGrant},
		{getOnly, multiplex.Path, s.openCalls},

		{getOnly, "/v1/stream", s.streamInbox},
		{get, "/v1/approvals", s.listApprovals},
		{get, "/v1/questions", s.listQuestions},
		{get, "/v1/requests/{handle}", s.getRequest},
		{get, "/v1/requests/{handle}/explain", s.explainRequest},
		{get, "/v1/decisions", s.listDecisions},
		{get, "/v1/workers", s.listWorkers},
		{get, "/v1/effects", s.listEffects},
		{get, "/v1/rules", s.listRules},
		{post, "/v1/rules", s.addRule},
		{post, "/v1/rules/explain", s.explainRules},
		{get, "/v1/rules/{rule_id}", s.getRule},
		{del, "/v1/rules/{rule_id}", s.revokeRule},

		{post, "/v1/tokens", s.createToken},
		{get, "/v1/tokens", s.listTokens},
		{get, "/v1/tokens/{token_id}", s.getToken},
		{post, "/v1/tokens/{token_id}/rotate", s.rotateToken},
		{del, "/v1/tokens/{token_id}", s.revokeToken},
		{post, "/v1/webhooks", s.createWebhook},
		{get, "/v1/webhooks", s.listWebhooks},
		{get, "/v1/webhooks/{webhook_id}", s.getWebhook},
		{post, "/v1/webhooks/{webhook_id}", s.changeWebhook},
		{del, "/v1/webhooks/{webhook_id}", s.removeWebhook},
		{post, "/v1/webhooks/{webhook_id}/rotate", s.rotateWebhook},
		{post, "/v1/webhooks/{webhook_id}/test", s.testWebhook},
		{post, "/v1/webhooks/{webhook_id}/replay", s.replayWebhook},
		{get, "/v1/me", s.showMe},
		{get, "/v1/me/addresses", s.listAddresses},
		{post, "/v1/me/addresses", s.addAddress},
		{post, "/v1/me/addresses/{address_id}/verify", s.verifyAddress},
		{del, "/v1/me/addresses/{address_id}", s.removeAddress},
		{get, "/v1/channels", s.listChannels},
		{post, "/v1/channels/{name}/test", s.testChannel},
		{get, "/v1/keys", s.showKeys},
		{get, "/v1/audit", s.listAudit},
		{getOnly, "/v1/audit/export", s.exportAudit},
		{post, "/v1/login", s.signIn},
		{post, "/v1/logout", s.signOut},
		{post, "/v1/stream-tickets", s.createStreamTicket},
		{get, "/v1/oidc", s.showIssuer},
		{getOnly, oidc.StartPath, s.startSignIn},
		{getOnly, oidc.CallbackPath, s.endSignIn},

		{get, pathLive, s.live},
		{get, pathReady, s.ready},
		{get, pathVersion, s.showVersion},
		{get, "/openapi.yaml", s.showOpenAPIYAML},
		{get, "/openapi.json", s.showOpenAPIJSON},
	}
}

// Routes returns the router without the shell around it.
func (s *Server) Routes() *chi.Mux {
	router := chi.NewRouter()
	router.Use(notePlace)
	router.NotFound(wire.HandlerFunc(routeNotFound).ServeHTTP)
	router.MethodNotAllowed(methodNotAllowed(router).ServeHTTP)
	for _, route := range s.routes() {
		if route.method == get {
			guarded := s.access.Guard(http.MethodGet, route.path, route.handler)
			router.Method(http.MethodGet, route.path, guarded)
			router.Method(http.MethodHead, route.path, guarded)
			continue
		}
		router.Method(route.method, route.path, s.access.Guard(route.method, route.path, route.handler))
	}
	return router
}

// notePlace records where each call goes, even one that panics.
func notePlace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if routed := chi.RouteContext(r.Context()); routed != nil {
				wire.Note(w, wire.Place{Route: routed.RoutePattern(), SessionID: routed.URLParam("session_id"), RunID: routed.URLParam("run_id")})
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// isForeign reports whether a path belongs to a dialect.
func (s *Server) isForeign(path string) bool {
	return path != "/v1" && !strings.HasPrefix(path, "/v1/") && !slices.ContainsFunc(s.routes(), func(r route) bool { return r.path == path })
}

func routeNotFound(_ http.ResponseWriter, r *http.Request) error {
	return refusal.New(wire.CodeRouteNotFound, "there is no route %s", wire.Shown(r.URL.Path))
}

// methodNotAllowed answers with the allowed methods of the path.
func methodNotAllowed(router *chi.Mux) wire.HandlerFunc {
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete}
	return func(w http.ResponseWriter, r *http.Request) error {
		path := r.URL.Path
		if r.URL.RawPath != "" {
			path = r.URL.RawPath
		}
		var allowed []string
		for _, method := range methods {
			if router.Match(chi.NewRouteContext(), method, path) {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			return routeNotFound(w, r)
		}
		w.Header()["Allow"] = []string{strings.Join(allowed, ", ")}
		return refusal.New(wire.CodeMethodNotAllowed, "%s is not among the methods of %s: %s",
			wire.Shown(r.Method), wire.Shown(r.URL.Path), strings.Join(allowed, ", "))
	}
}
