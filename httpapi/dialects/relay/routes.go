package relay

import (
	"cmp"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Via is the recorded via of decisions made through this dialect.
const Via = "relay"

// Options are the settings of the dialect.
type Options struct {
	// DefaultAgentID is the agent of every chat, because the protocol names none. Empty means
	// model.DefaultAgentID.
	DefaultAgentID string
	// AlwaysPrefix makes an answer with "always" create a broad rule, for every call whose texts
	// begin with the same words. Otherwise the rule is for the exact call
	// (docs/spec/relay.md#always).
	AlwaysPrefix bool
	// Models are the names that GET /models lists; the first is the default.
	Models []string
}

// face serves the routes.
type face struct {
	kit.Face
	agentID      string
	alwaysPrefix bool
	models       models
	followed     *followedChats
}

// New returns the dialect, to be mounted next to /v1.
func New(options Options) kit.Mount {
	return func(router chi.Router, services kit.Services) {
		f := newFace(services, options)
		f.Routes(router, []kit.Route{
			{Methods: kit.GetAndHead, Path: "/models", Handle: f.listModels},
			{Methods: kit.PostOnly, Path: "/chat", Handle: f.startChat},
			{Methods: kit.PostOnly, Path: "/chat/relay/{relayId}", Handle: f.answerRelay},
		})
	}
}

// models is the reply to GET /models. The service runs no models: it lists the names that the
// operator configured.
type models struct {
	Models  []string `json:"models"`
	Default *string  `json:"default"`
	// DefaultModel is the same name, as the gateway's page reads it.
	DefaultModel *string `json:"defaultModel,omitempty"`
}

func (f *face) listModels(w http.ResponseWriter, r *http.Request) error {
	return f.Answer(w, r, http.StatusOK, f.models)
}

func newFace(services kit.Services, options Options) *face {
	f := &face{
		Face:    kit.Face{Services: services, Via: Via, Refuse: refusalOf},
		agentID: cmp.Or(options.DefaultAgentID, model.DefaultAgentID), alwaysPrefix: options.AlwaysPrefix,
		models: models{Models: []string{}}, followed: newFollowedChats(),
	}
	if len(options.Models) > 0 {
		f.models = models{Models: options.Models, Default: &options.Models[0], DefaultModel: &options.Models[0]}
	}
	return f
}
