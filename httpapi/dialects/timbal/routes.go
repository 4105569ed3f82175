package timbal

import (
	"cmp"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Via is the recorded via of decisions made through this dialect.
const Via = "timbal"

// Options are the settings of the dialect.
type Options struct {
	// DefaultAgentID is the agent of a run started without an agent in the path; "default" when
	// empty.
	DefaultAgentID string
}

// face serves the routes.
type face struct {
	kit.Face
	agentID  string
	outlines *outlines
}

// New returns the dialect, to be mounted next to /v1. Every route also exists below
// /agents/{agent_id}. Only calls that start a run use the agent.
func New(options Options) kit.Mount {
	return func(router chi.Router, services kit.Services) {
		f := &face{
			Face:     kit.Face{Services: services, Via: Via, Refuse: refusalOf},
			agentID:  cmp.Or(options.DefaultAgentID, model.DefaultAgentID),
			outlines: newOutlines(),
		}
		for _, prefix := range []string{"", "/agents/{agent_id}"} {
			f.Routes(router, []kit.Route{
				{Methods: kit.PostOnly, Path: prefix + "/stream", Handle: f.stream},
				{Methods: kit.PostOnly, Path: prefix + "/run", Handle: f.run},
				{Methods: kit.GetOnly, Path: prefix + "/runs/{run_id}/events", Handle: f.events},
				{Methods: kit.PostOnly, Path: prefix + "/cancel/{run_id}", Handle: f.cancel},
				{Methods: kit.GetOnly, Path: prefix + "/healthcheck", Handle: f.healthcheck},
			})
		}
	}
}

func (f *face) healthcheck(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// agentOf returns the path's agent, or the default. Errors: 422 for an invalid id.
func (f *face) agentOf(r *http.Request) (string, error) {
	agentID := wire.PathID(r, "agent_id")
	if agentID == "" {
		return f.agentID, nil
	}
	if !refusal.ValidID(agentID) {
		return "", unprocessable("there can be no agent %s", wire.Shown(agentID))
	}
	return agentID, nil
}
