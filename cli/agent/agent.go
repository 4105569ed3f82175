// Package agent holds the commands between a coding agent and the service: mcp serves it
// tools over stdin and stdout, and hook answers its calls before it runs a tool. Every
// failure denies: neither command allows anything that no person and no rule has allowed.
// The package uses package client and no store.
package agent

import (
	"cmp"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Asking holds the flags of commands that ask for an agent.
type Asking struct {
	console.Recipients
	console.Named
	Agent            string         `name:"agent-id" aliases:"agent" default:"coding-agent" from:"HOLDPOINT_AGENT" placeholder:"NAME" help:"Agent name to show to people (default ${default}; $$HOLDPOINT_AGENT)."`
	Timeout          *time.Duration `placeholder:"DURATION" help:"Time limit for a decision; after that the call is denied (default: none; a hook that waits: a week)."`
	Outage           time.Duration  `default:"10m" placeholder:"DURATION" help:"How long to wait for a service that does not answer; after that the call is denied (default ${default})."`
	ExcludeRequester bool           `name:"exclude-requester" help:"Someone else must allow each request: not the principal of this token, nor anyone who works in its session. The service must require tokens."`
}

// check validates the flags, and returns the escalation of the requests; nil for the service's default.
func (a *Asking) check() (*api.Escalation, error) {
	if !refusal.ValidID(a.Agent) {
		return nil, console.Usage("--agent-id must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	}
	if err := cmp.Or(a.CheckLabel(), console.CheckTimeout(a.Timeout)); err != nil {
		return nil, err
	}
	if a.Outage <= 0 {
		return nil, console.Usage("--outage must be more than 0")
	}
	return a.Chosen()
}

// maxRestart is longer than a service takes to restart, and shorter than an agent waits for
// a tool's reply.
const maxRestart = 30 * time.Second

// retry repeats calls for long enough to survive a restart of the service.
func (a *Asking) retry() client.RetryPolicy {
	return client.RetryPolicy{Outage: min(a.Outage, maxRestart)}
}

// sessionOf returns the session for an agent's own session id.
func sessionOf(agent, theirs string) string { return idOf(agent + "-" + theirs) }

// idOf returns a text as an id. Characters that ids may not have become "-".
func idOf(text string) string {
	id := strings.Map(func(r rune) rune {
		if refusal.ValidID(string(r) + "x") {
			return r
		}
		return '-'
	}, text)
	return id[:min(len(id), api.MaxIDLength)]
}
