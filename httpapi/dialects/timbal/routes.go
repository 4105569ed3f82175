package timbal

import (
	"cmp"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
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
	kit.Dialect
	agentID  string
	outlines *outlines
}

// New returns the dialect, to be mounted next to /v1. Every route also exists below
// /agents/{agent_id}. Only calls that start a run use the agent.
func New(options Options) kit.Mount {
	return func(services kit.Services) wire.Face {
		f := &face{
			Dialect:  kit.Dialect{Services: services, Via: Via, Refuse: refusalOf},
			agentID:  cmp.Or(options.DefaultAgentID, model.DefaultAgentID),
			outlines: newOutlines(),
		}
		var routes []wire.Route
		for _, prefix := range []string{"", "/agents/{agent_id}"} {
			routes = append(routes,
				wire.Post(prefix+"/stream", auth.Chat, f.stream),
				wire.Post(prefix+"/run", auth.Chat, f.run),
				wire.GetOnly(prefix+"/runs/{run_id}/events", auth.Read, f.events),
				wire.Post(prefix+"/cancel/{run_id}", auth.Cancel, f.cancel),
				wire.GetOnly(prefix+"/healthcheck", auth.Known, f.healthcheck),
			)
		}
		return f.Face(routes...)
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
