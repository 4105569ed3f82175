package serve

import (
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
)

// noDialects means none in the list of dialects.
const noDialects = "none"

// Vars are what the flags of a [Command] refer to.
func Vars() kong.Vars { return kong.Vars{"dialects": strings.Join(dialects.Names(), ",")} }

func checkDialects(names []string) error {
	known := dialects.Names()
	for _, name := range names {
		if !slices.Contains(known, name) && (name != noDialects || len(names) > 1) {
			return console.Usage("unknown dialect %q; use %s, or none", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// faces returns the faces next to /v1: the selected dialects, MCP and the documents.
func (c *Command) faces(signatures *signing.Keys) []kit.Mount {
	selected := dialects.Named(dialects.Options{
		DefaultAgentID: c.DefaultAgent, AlwaysPrefix: c.RelayAlways == "prefix", Models: c.RelayModels,
	}, c.Dialects)
	return append(selected, overhttp.New(overhttp.Options{
		Version: console.Version(), Signing: signatures, NowMs: func() int64 { return time.Now().UnixMilli() }, ExternalURL: c.ExternalURL,
	}), assembly.Documents(holdpoint.Documents(), holdpoint.OpenAPIJSON()))
}
