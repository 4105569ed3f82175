package cli

import (
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/client"
)

// connection holds the flags of every command that speaks to a service.
type connection struct {
	Server string `default:"http://127.0.0.1:4000" from:"HOLDPOINT_SERVER" placeholder:"URL" help:"Where the service is (default ${default}; $$HOLDPOINT_SERVER)."`
	Actor  string `from:"HOLDPOINT_ACTOR" placeholder:"NAME" help:"Who decides, as it will be on record (default the name of the OS user; $$HOLDPOINT_ACTOR)."`
}

// format holds the flag of every command that prints records.
type format struct {
	JSON bool `name:"json" help:"Print JSON, for scripts."`
}

// open returns a client; the caller closes it. It makes no connection.
func (c *connection) open() (*client.Client, error) {
	opened, err := client.New(c.Server, client.WithActor(c.actor()), client.WithUserAgent("holdpoint/"+version()))
	if err != nil {
		return nil, &exit{code: exitUsage, cause: err}
	}
	return opened, nil
}

func (c *connection) actor() string {
	if c.Actor != "" {
		return c.Actor
	}
	current, err := user.Current()
	if err != nil || !plainASCII(current.Username) {
		return "unknown"
	}
	return current.Username
}

// serverFlag is what a copied command line needs to find the same service.
func (c *connection) serverFlag() string {
	if c.Server == defaultServerURL {
		return ""
	}
	return " --server " + quoteArgument(c.Server)
}

func plainASCII(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// unreachable is a service that does not answer.
type unreachable struct {
	server string
	cause  error
}

func (u *unreachable) Error() string {
	return fmt.Sprintf("no holdpoint service answers at %s (%v)\n"+
		"           start one with: holdpoint serve\n"+
		"           or say where it is: --server URL, or HOLDPOINT_SERVER", u.server, u.cause)
}

func (u *unreachable) Unwrap() error { return u.cause }

// reached tells a failed call of a service that is not there from others.
func (c *connection) reached(err error) error {
	var answered *client.Error
	if err == nil || !errors.Is(err, client.ErrUnavailable) || errors.As(err, &answered) {
		return err
	}
	return &unreachable{server: c.Server, cause: err}
}

// explain returns the text of an error for a person: what was refused, and what had
// been decided before.
func explain(err error, now time.Time) string {
	text := err.Error()
	var refused *client.Error
	if !errors.As(err, &refused) {
		return text
	}
	for _, fault := range refused.Faults {
		if line := strings.TrimSpace(fault.Pointer + " " + fault.Detail); !strings.Contains(text, fault.Detail) {
			text += "\n           " + line
		}
	}
	if recorded := refused.Recorded; recorded != nil {
		text += fmt.Sprintf("\n           %s was %s by %s, %s", recorded.RequestID, recorded.Outcome,
			recorded.ResolvedBy, ago(recorded.ResolvedAtMs, now))
	}
	return printable(text, true)
}
