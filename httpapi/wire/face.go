package wire

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/auth"
)

// Face is a wire contract that the service speaks.
type Face struct {
	// Name is its name in settings and documents.
	Name string
	// Via is the recorded via of its decisions, up to a colon; empty if it decides nothing.
	Via string
	// Routes are all its routes.
	Routes []Route
	// Answer returns a handler that answers errors in the words of the contract. Nil answers them
	// with problem documents.
	Answer func(HandlerFunc) http.Handler
	// Over, of a face without routes, serves the face in front of all others. It turns its calls
	// into calls of next, which checks them.
	Over func(next http.Handler) http.Handler
	// Use returns how much of the calls that it may hold at this face the busiest caller holds: 1 if its next call is
	// refused. Nil for a face without such a limit.
	Use func() float64
}

// Route is a path with the methods that one handler serves.
type Route struct {
	// Methods are the methods of HTTP, the one in documents first.
	Methods []string
	// Path is the pattern for the router.
	Path string
	// Action is what a caller must be allowed to do. A route without one is refused for every
	// caller. Where a call does more (a rule created with a decision, a decision in a call that
	// starts a run), the command's Spec demands more.
	Action auth.Action
	Handle HandlerFunc
	// Stream says that the reply never ends. Browsers open it with EventSource or WebSocket, which
	// cannot send headers, so the route also accepts a ticket.
	Stream bool
}

// Get returns a route that also serves HEAD.
func Get(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodGet, http.MethodHead}, Path: path, Action: action, Handle: handle}
}

// GetOnly returns a route without HEAD, for a reply without useful headers, or a GET that leases
// what it returns.
func GetOnly(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodGet}, Path: path, Action: action, Handle: handle}
}

// Stream returns the route of a stream.
func Stream(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodGet}, Path: path, Action: action, Handle: handle, Stream: true}
}

// Post returns a route.
func Post(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodPost}, Path: path, Action: action, Handle: handle}
}

// Patch returns a route.
func Patch(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodPatch}, Path: path, Action: action, Handle: handle}
}

// Put returns a route.
func Put(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodPut}, Path: path, Action: action, Handle: handle}
}

// Delete returns a route.
func Delete(path string, action auth.Action, handle HandlerFunc) Route {
	return Route{Methods: []string{http.MethodDelete}, Path: path, Action: action, Handle: handle}
}

// Mount adds the routes of a face to a router. [Access.Guard] checks the caller of each.
func (a *Access) Mount(router chi.Router, face *Face) {
	for i := range face.Routes {
		route := &face.Routes[i]
		guarded := a.Guard(route)
		var handler http.Handler = guarded
		if face.Answer != nil {
			handler = face.Answer(guarded)
		}
		for _, method := range route.Methods {
			router.Method(method, route.Path, handler)
		}
	}
}

// IsStream reports whether a path belongs to a stream of the face.
func (f *Face) IsStream(path string) bool {
	parts := strings.Split(path, "/")
	return slices.ContainsFunc(f.Routes, func(route Route) bool {
		return route.Stream && slices.EqualFunc(strings.Split(route.Path, "/"), parts, func(name, part string) bool {
			return name == part || part != "" && strings.HasPrefix(name, "{")
		})
	})
}
