package relay

import (
	"cmp"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
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
	kit.Dialect
	agentID      string
	alwaysPrefix bool
	models       models
	followed     *followedChats
}

// New returns the dialect, to be mounted next to /v1.
func New(options Options) kit.Mount {
	return func(services kit.Services) wire.Face {
		f := newFace(services, options)
		return f.Face(
			wire.Get("/models", auth.Read, f.listModels),
			wire.Post("/chat", auth.Chat, f.startChat),
			wire.Post("/chat/relay/{relayId}", auth.Decide, f.answerRelay),
		)
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
		Dialect: kit.Dialect{Services: services, Via: Via, Refuse: refusalOf},
		agentID: cmp.Or(options.DefaultAgentID, model.DefaultAgentID), alwaysPrefix: options.AlwaysPrefix,
		models: models{Models: []string{}}, followed: newFollowedChats(),
	}
	if len(options.Models) > 0 {
		f.models = models{Models: options.Models, Default: &options.Models[0], DefaultModel: &options.Models[0]}
	}
	return f
}
