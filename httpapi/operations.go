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
	// pathVersion shows nothing of what callers brought.
	pathVersion = "/version"
)

// readyTimeout bounds the question whether the database answers.
const readyTimeout = 1500 * time.Millisecond

// isProbe reports whether health checks call a path, by whatever host name.
func isProbe(path string) bool { return path == pathLive || path == pathReady }

// live says that the process answers. It does not ask the database: one that is away is
// no reason to kill the process.
func (s *Server) live(w http.ResponseWriter, r *http.Request) error {
	return wire.Respond(w, r, http.StatusOK, api.StatusReply{Status: "live"})
}

// ready says whether requests should be sent here: the database answers, its
// schema is the one that this program knows, and the server does not drain.
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

// notReadyError shows why the service is not ready, and keeps the cause for the log.
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
	return refusal.New(wire.CodeServiceUnavailable, "the service cannot do its work, though its database answers; is the schema the one that this program knows? The log says why")
}

func (s *Server) showVersion(w http.ResponseWriter, r *http.Request) error {
	return wire.Respond(w, r, http.StatusOK, api.VersionInfo{Name: "holdpoint", Version: s.version})
}

var (
	yamlType = []string{"application/yaml"}
	jsonType = []string{"application/json"}
)

func (s *Server) showOpenAPIYAML(w http.ResponseWriter, r *http.Request) error {
	return showOpenAPI(w, r, yamlType, s.openAPIYAML)
}

func (s *Server) showOpenAPIJSON(w http.ResponseWriter, r *http.Request) error {
	return showOpenAPI(w, r, jsonType, s.openAPIJSON)
}

func showOpenAPI(w http.ResponseWriter, r *http.Request, contentType []string, text []byte) error {
	if text == nil {
		return refusal.New(wire.CodeRouteNotFound, "the description of the API is not served here")
	}
	wire.WriteBytes(w, r, http.StatusOK, contentType, text)
	return nil
}
