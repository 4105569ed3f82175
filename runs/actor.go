package runs

import (
	"cmp"
	"context"

	"github.com/holdpoint/holdpoint/auth"
)

// attributed is a command whose events name who called.
type attributed struct {
	Command
	caller *auth.Identity
}

// By returns a command that was given with the credential of a principal: the events that it writes
// name the principal as their actor, unless the command says itself who decided. What is given by
// nobody is the service's own.
func By(command Command, caller *auth.Identity) Command {
	return &attributed{command, caller}
}

// Given returns the command that a caller gave, without what [By] and [Authorized] put around it.
func Given(command Command) Command {
	for {
		switch around := command.(type) {
		case *attributed:
			command = around.Command
		case *authorized:
			command = around.Command
		default:
			return command
		}
	}
}

func (c *attributed) actedBy() string { return cmp.Or(actedBy(c.Command), c.caller.Principal) }

func (c *attributed) givenBy() *auth.Identity { return c.caller }

func (c *authorized) givenBy() *auth.Identity { return c.caller }

func (c *authorized) actedBy() string { return actedBy(c.Command) }

// CallerOf returns the principal whose credential a call was made with, "" when there is none.
func CallerOf(ctx context.Context) string {
	if caller := auth.From(ctx); caller != nil {
		return caller.Principal
	}
	return ""
}
