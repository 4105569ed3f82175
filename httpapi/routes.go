package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/multiplex"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// routes returns the routes of /v1 and of operators, with the paths of openapi.yaml. features are routes of the
// packages below v1.
func (s *Server) routes(features ...[]wire.Route) []wire.Route {
	return append([]wire.Route{
		// Each call over the connection is checked as a call of its own route.
		wire.GetOnly(multiplex.Path, auth.Known, s.openCalls),

		wire.Get(pathLive, auth.Public, s.live),
		wire.Get(pathReady, auth.Public, s.ready),
		wire.Get(pathVersion, auth.Known, s.about.version),
		wire.Get("/openapi.yaml", auth.Known, s.about.showYAML),
		wire.Get("/openapi.json", auth.Known, s.about.showJSON),
	}, slices.Concat(features...)...)
}

// newRouter returns a router without routes.
func newRouter() *chi.Mux {
	router := chi.NewRouter()
	router.Use(notePlace)
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
