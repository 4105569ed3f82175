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

// noDialects means none in the list of dialects.
const noDialects = "none"

// dialects are the protocols of other programs, with their constructors.
var dialects = []struct {
	name string
	make func(c *Command) kit.Mount
}{
	{"hermes", func(*Command) kit.Mount { return hermes.Mount }},
	{"codex", func(*Command) kit.Mount { return codex.Mount }},
	{"timbal", func(c *Command) kit.Mount { return timbal.New(timbal.Options{DefaultAgentID: c.DefaultAgent}) }},
	{"relay", func(c *Command) kit.Mount {
		return relay.New(relay.Options{DefaultAgentID: c.DefaultAgent, AlwaysPrefix: c.RelayAlways == "prefix", Models: c.RelayModels})
	}},
}

func dialectNames() []string {
	names := make([]string, len(dialects))
	for i, dialect := range dialects {
		names[i] = dialect.name
	}
	return names
}

func checkDialects(names []string) error {
	for _, name := range names {
		if !slices.Contains(dialectNames(), name) && (name != noDialects || len(names) > 1) {
			return console.Usage("unknown dialect %q; use %s, or none", name, strings.Join(dialectNames(), ", "))
		}
	}
	return nil
}

// mounts returns the mounts next to /v1.
func (c *Command) mounts(signatures *signing.Keys) []kit.Mount {
	return append(c.dialects(), overhttp.New(overhttp.Options{
		Version: console.Version(), Signing: signatures, NowMs: func() int64 { return time.Now().UnixMilli() },
	}), documents())
}

// dialects returns the selected dialects.
func (c *Command) dialects() []kit.Mount {
	var served []kit.Mount
	for _, dialect := range dialects {
		if slices.Contains(c.Dialects, dialect.name) {
			served = append(served, dialect.make(c))
		}
	}
	return served
}
