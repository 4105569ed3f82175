// Package relay is the face of the service for clients of the relay protocol of an LLM
// gateway (contracts/llm-gateway.md): POST /chat starts a run and streams what happens
// in it, and POST /chat/relay/{relayId} decides about one tool call.
//
// A chat is a session with one run. What this face must know of it later, on whatever
// replica, stands in the session's metadata under "relay"; the package itself keeps
// nothing. A relay is an open approval, and its id is the approval's handle. The
// package gives commands to the one door and turns their refusals into the four errors
// that its clients know. It must not know an engine or another dialect.
package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Via is the way that resolutions made here are recorded with.
const Via = "relay"

// Options are the settings of the dialect.
type Options struct {
	// DefaultAgentID is the agent that every chat is for: the protocol names none.
	// runs.DefaultAgentID when it is empty.
	DefaultAgentID string
	// AlwaysPrefix has an answer with "always" write the broad rule of the original,
	// which holds for every call whose texts begin with the same words
	// (llm-gateway.md 5.4.4). Otherwise the rule is for the exact call (decisions.md 20).
	AlwaysPrefix bool
}

// New returns the dialect, to be mounted beside /v1.
func New(options Options) dialects.Mount {
	return func(router chi.Router, services dialects.Services) {
		f := &face{
			Services: services, agentID: cmp.Or(options.DefaultAgentID, model.DefaultAgentID),
			alwaysPrefix: options.AlwaysPrefix,
		}
		router.Method(http.MethodPost, "/chat", handler(f.chat))
		router.Method(http.MethodPost, "/chat/relay/{relayId}", handler(f.answer))
	}
}

type face struct {
	dialects.Services
	agentID      string
	alwaysPrefix bool
}

// refusal is an error as the clients of this face know it.
type faceError struct {
	status int
	text   string
}

func (r *faceError) Error() string { return r.text }

// The errors of llm-gateway.md 5.2 and 5.3, word by word.
var (
	errInvalidJSON     = &faceError{http.StatusBadRequest, "Invalid JSON body"}
	errChatIncomplete  = &faceError{http.StatusBadRequest, "model and messages are required"}
	errRelayIncomplete = &faceError{http.StatusBadRequest, "sessionId and response are required"}
	errUnknownSession  = &faceError{http.StatusNotFound, "Session not found"}
	errUnknownRelay    = &faceError{http.StatusNotFound, "Relay not found"}
)

// handler is a wire.HandlerFunc whose errors are shown in the form of this face.
type handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	if err == nil {
		return
	}
	var known *faceError
	if !errors.As(err, &known) {
		known = refusalOf(err)
	}
	if known.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	_ = wire.Respond(w, r, known.status, struct { // it answers whatever it is given
		Error string `json:"error"`
	}{known.text})
}

// refusalOf turns an error of the layers below into one of this face. A call that does
// not fit is 400 here, whatever its status on /v1: the clients know no other.
func refusalOf(err error) *faceError {
	problem := wire.ProblemOf(err)
	if problem.Status == http.StatusUnprocessableEntity {
		problem.Status = http.StatusBadRequest
	}
	return &faceError{problem.Status, problem.Detail}
}

// logFailure tells the log of a failure that is ours, which the reply does not show.
func (f *face) logFailure(ctx context.Context, message, sessionID string, err error) {
	f.Logger.LogAttrs(ctx, slog.LevelError, "relay", slog.String("failed", message),
		slog.String("session_id", sessionID), slog.String("error", err.Error()))
}

// actor returns who is asking, by this face.
func actor(r *http.Request) (runs.Actor, error) {
	who, err := wire.Actor(r.Header)
	who.Via = Via
	return who, err
}
