package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
	auditroutes "github.com/holdpoint/holdpoint/httpapi/v1/audit"
	"github.com/holdpoint/holdpoint/httpapi/v1/decide"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/httpapi/v1/people"
	"github.com/holdpoint/holdpoint/httpapi/v1/rules"
	runroutes "github.com/holdpoint/holdpoint/httpapi/v1/runs"
	"github.com/holdpoint/holdpoint/httpapi/v1/streams"
	"github.com/holdpoint/holdpoint/httpapi/v1/tokens"
	"github.com/holdpoint/holdpoint/httpapi/v1/work"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/multiplex"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// readsAboutTimeout limits the reads about a request, and of the other requests of an explanation. After
// that the reply is without them. A variable for tests, which may run on a slow machine.
var readsAboutTimeout = time.Second

// routes returns the routes of /v1 and of operators, with the paths of openapi.yaml.
func (s *Server) routes(options *Options) []wire.Route {
	bodies, maxRuleAgeMs := s.calls.Bodies, options.MaxRuleAge.Milliseconds()
	workers := work.New(work.Options{
		Calls: s.calls, Claims: options.Claims, Sealer: options.Sealer, Signing: options.Signing,
		Issuer: GrantIssuer(options.Issuer), Unscoped: options.Store, Logger: options.Logger,
	})
	explained := explain.Collector{
		Whole: options.Store, NowMs: s.store.NowMs, Waiting: options.Claims.WaitingFor, Directory: directory{options.Keyring},
		Workers: options.Store, Messages: options.Store, RulesNear: rules.Near{Store: s.store}.Of,
	}
	if options.Claims != nil {
		explained.Silence = func(agentID string) (ms int64, named bool) {
			silence := options.Claims.SilenceOf(agentID)
			return silence.Ms, silence.Named
		}
	}
	if options.Notify != nil {
		explained.Channels, explained.Reachable = options.Notify.Channels(), options.Notify.Reachable
	}
	program := about{options.Version, options.OpenAPIYAML, options.OpenAPIJSON}
	return slices.Concat(
		runroutes.Routes(runroutes.Options{Calls: s.calls, InputWait: options.Limits.InputWait, HandOver: workers.HandOver, Explain: explained}),
		decide.Routes(s.calls, options.Store, explained.OfPending, maxRuleAgeMs, readsAboutTimeout),
		workers.Routes(),
		streams.Routes(s.store, s.streams, options.StreamWriteTimeout),
		rules.Routes(s.store, bodies, maxRuleAgeMs, readsAboutTimeout),
		tokens.Routes(s.access, bodies, options.OIDC, s.streamPath),
		auditroutes.Routes(auditroutes.Sources{
			Store: s.store, Bodies: bodies, Signing: options.Signing, Journal: options.Journal,
			Checkpoints: options.Checkpoints, Redactor: options.Redactor,
		}),
		hooks.Routes(s.store, bodies, options.Webhooks, options.Logger),
		people.Routes(options.Notify, s.access, bodies),
		[]wire.Route{
			// Each call over the connection is checked as a call of its own route.
			wire.GetOnly(multiplex.Path, auth.Known, s.openCalls),

			wire.Get(pathLive, auth.Public, s.live),
			wire.Get(pathReady, auth.Public, s.ready),
			wire.Get(pathVersion, auth.Known, program.version),
			wire.Get("/openapi.yaml", auth.Known, program.showYAML),
			wire.Get("/openapi.json", auth.Known, program.showJSON),
		},
	)
}

// newRouter returns a router without routes.
func newRouter() *chi.Mux {
	router := chi.NewRouter()
	router.Use(notePlace, refuseEmptyNames(router))
	router.NotFound(wire.HandlerFunc(routeNotFound).ServeHTTP)
	router.MethodNotAllowed(methodNotAllowed(router).ServeHTTP)
	return router
}

// innerCalls returns a handler of calls that are made while another call of the router is answered.
// chi would continue with the outer call's route otherwise.
func innerCalls(router *chi.Mux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		router.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, (*chi.Context)(nil))))
	})
}

// isStream reports whether a path belongs to a stream of any face.
func (s *Server) isStream(path string) bool {
	return slices.ContainsFunc(s.faces, func(face wire.Face) bool { return face.IsStream(path) })
}

// streamPath returns the path of the stream that a path opens, without the prefix of a face; "" if it opens none.
func (s *Server) streamPath(path string) string {
	if path = strings.TrimPrefix(path, kheish.Prefix); s.isStream(path) {
		return path
	}
	return ""
}

// refuseEmptyNames refuses a path in which a name is empty, as a script with an unset variable writes it. chi takes it
// for a parameter without a value: a list of one session would be a list of all.
func refuseEmptyNames(router *chi.Mux) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.EscapedPath(), "//") {
				router.NotFoundHandler().ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
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
	return path != "/v1" && !strings.HasPrefix(path, "/v1/") && !slices.ContainsFunc(s.faces[0].Routes, func(r wire.Route) bool { return r.Path == path })
}

func routeNotFound(_ http.ResponseWriter, r *http.Request) error {
	return refusal.New(wire.CodeRouteNotFound, "there is no route %s", wire.Shown(r.URL.Path))
}

// methodNotAllowed answers with the allowed methods of the path.
func methodNotAllowed(router *chi.Mux) wire.HandlerFunc {
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
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
