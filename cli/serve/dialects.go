package serve

import (
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
)

// noDialects stands for none in the list of dialects.
const noDialects = "none"

var dialectNames = []string{"hermes", "codex", "timbal", "relay"}

func checkDialects(names []string) error {
	for _, name := range names {
		if !slices.Contains(dialectNames, name) && (name != noDialects || len(names) > 1) {
			return console.Usage("%q is no dialect; there are %s, and none", name, strings.Join(dialectNames, ", "))
		}
	}
	return nil
}

// mounts returns what is served beside /v1.
func (c *Command) mounts(signatures *signing.Keys) []kit.Mount {
	return append(c.dialects(), overhttp.New(overhttp.Options{
		Version: console.Version(), Signing: signatures, NowMs: func() int64 { return time.Now().UnixMilli() },
	}), mountDocuments)
}

// dialects returns the foreign wire contracts that are served.
func (c *Command) dialects() []kit.Mount {
	mounts := map[string]kit.Mount{
		"hermes": hermes.Mount,
		"codex":  codex.Mount,
		"timbal": timbal.New(timbal.Options{DefaultAgentID: c.DefaultAgent}),
		"relay":  relay.New(relay.Options{DefaultAgentID: c.DefaultAgent, AlwaysPrefix: c.RelayAlways == "prefix", Models: c.RelayModels}),
	}
	var served []kit.Mount
	for _, name := range dialectNames {
		if slices.Contains(c.Dialects, name) {
			served = append(served, mounts[name])
		}
	}
	return served
}
