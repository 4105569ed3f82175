// Package dialects lists the wire contracts of other systems that the service can speak. It must not know what a
// contract says: each has a package of its own.
package dialects

import (
	"slices"

	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
)

// Options are the settings of the dialects.
type Options struct {
	// DefaultAgentID is the agent of runs that clients of timbal and relay start without naming one;
	// "default" when empty.
	DefaultAgentID string
	// AlwaysPrefix and Models are settings of [relay.Options].
	AlwaysPrefix bool
	Models       []string
}

// All returns every dialect.
func All(options Options) []kit.Mount {
	return []kit.Mount{
		hermes.Mount,
		codex.Mount,
		timbal.New(timbal.Options{DefaultAgentID: options.DefaultAgentID}),
		relay.New(relay.Options{DefaultAgentID: options.DefaultAgentID, AlwaysPrefix: options.AlwaysPrefix, Models: options.Models}),
	}
}

// Named returns the dialects with these names.
func Named(options Options, names []string) []kit.Mount {
	return slices.DeleteFunc(All(options), func(mount kit.Mount) bool { return !slices.Contains(names, nameOf(mount)) })
}

// Names returns the names of all dialects. Each is also the via of the dialect's decisions.
func Names() []string {
	var names []string
	for _, mount := range All(Options{}) {
		names = append(names, nameOf(mount))
	}
	return names
}

func nameOf(mount kit.Mount) string { return mount(kit.Services{}).Name }
