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

// via is how a resolution that was made here is recorded.
const via = "timbal"

// Options are the settings of the dialect.
type Options struct {
	// DefaultAgentID is the agent of a run that is started without an agent in the path;
	// "default" when empty.
	DefaultAgentID string
}

// face is the dialect with what it works with.
type face struct {
	kit.Services

	agentID string
}

// New returns the dialect's routes: /stream, /run, /runs/{run_id}/events,
// /cancel/{run_id} and /healthcheck, all of them also below /agents/{agent_id}. The
// agent matters only to what starts a run.
func New(options Options) kit.Mount {
	return func(router chi.Router, services kit.Services) {
		f := &face{Services: services, agentID: cmp.Or(options.DefaultAgentID, model.DefaultAgentID)}
		for _, prefix := range []string{"", "/agents/{agent_id}"} {
			router.Method(http.MethodPost, prefix+"/stream", f.handler(f.stream))
			router.Method(http.MethodPost, prefix+"/run", f.handler(f.run))
			router.Method(http.MethodGet, prefix+"/runs/{run_id}/events", f.handler(f.events))
			router.Method(http.MethodPost, prefix+"/cancel/{run_id}", f.handler(f.cancel))
			router.Method(http.MethodGet, prefix+"/healthcheck", f.handler(f.healthcheck))
		}
	}
}

func (f *face) healthcheck(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// agentOf returns the agent that the path names, or the default.
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
