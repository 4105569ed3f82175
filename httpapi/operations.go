package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	pathLive  = "/livez"
	pathReady = "/readyz"
	// pathVersion shows no data of callers.
	pathVersion = "/version"
)

// readyTimeout limits the readiness check of the database.
const readyTimeout = 1500 * time.Millisecond

// isProbe reports whether a path is for health checks, which use any host name.
func isProbe(path string) bool { return path == pathLive || path == pathReady }

// live reports that the process answers. It does not check the database: an outage must not
// get the process killed.
func (s *Server) live(w http.ResponseWriter, r *http.Request) error {
	return wire.Respond(w, r, http.StatusOK, api.StatusReply{Status: "live"})
}

// ready reports whether the service can handle requests: the database answers, its schema is not
// older than this program, and the server does not drain.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.draining.Err() != nil {
		return runs.ErrClosed
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.store.Ready(ctx); err != nil {
		return &notReadyError{err}
	}
	return wire.Respond(w, r, http.StatusOK, api.StatusReply{Status: "ready"})
}

// notReadyError says why the service is not ready. The cause is only logged.
type notReadyError struct{ cause error }

func (e *notReadyError) Error() string { return "not ready: " + e.cause.Error() }

func (e *notReadyError) Unwrap() error {
	if reason, ok := errors.AsType[*runs.NotReadyError](e.cause); ok {
		return refusal.New(wire.CodeServiceUnavailable, "not ready: %s", reason.Detail)
	}
	for _, shown := range []error{runs.ErrUnavailable, runs.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.cause, shown) {
			return e.cause
		}
	}
	return refusal.New(wire.CodeServiceUnavailable, "the service is not ready, though its database answers; does the schema have this program's version? The log has the reason")
}

// about describes the program and its API.
type about struct {
	program    string // its version
	yaml, json []byte // openapi.yaml and openapi.json; nil for nothing
}

func (a *about) version(w http.ResponseWriter, r *http.Request) error {
	return wire.Respond(w, r, http.StatusOK, api.VersionInfo{Name: "holdpoint", Version: a.program})
}

var (
	yamlType = []string{"application/yaml"}
	jsonType = []string{"application/json"}
)

func (a *about) showYAML(w http.ResponseWriter, r *http.Request) error {
	return showOpenAPI(w, r, yamlType, a.yaml)
}

func (a *about) showJSON(w http.ResponseWriter, r *http.Request) error {
	return showOpenAPI(w, r, jsonType, a.json)
}

func showOpenAPI(w http.ResponseWriter, r *http.Request, contentType []string, text []byte) error {
	if text == nil {
		return refusal.New(wire.CodeRouteNotFound, "the description of the API is not served here")
	}
	wire.WriteBytes(w, r, http.StatusOK, contentType, text)
	return nil
}
