package runs

import (
	"github.com/holdpoint/holdpoint/auth"
)

// authorized is a command whose caller's token must still work at the moment of the decision.
type authorized struct {
	Command
	tokenID, credential string
}

// Authorized returns a command that is decided only if the caller's token works at that moment: one
// that was revoked after the call came in decides nothing. A caller without a token is not checked.
//
// Errors besides the command's: invalid_token.
func Authorized(command Command, caller *auth.Identity) Command {
	if caller.TokenID == "" {
		return command
	}
	return &authorized{Command: command, tokenID: caller.TokenID, credential: caller.Credential}
}

// Given returns the command that a caller gave, without what [Authorized] put around it.
func Given(command Command) Command {
	if inner, ok := command.(*authorized); ok {
		return inner.Command
	}
	return command
}

// Needs implements Command.
func (c *authorized) Needs() Needs {
	needs := c.Command.Needs()
	needs.TokenID = c.tokenID
	return needs
}

func (c *authorized) decide(w *workingCopy) (Reply, error) {
	token := w.state.Tokens[c.tokenID]
	if token == nil || !token.Accepts(c.credential, w.nowMs) {
		return Reply{}, auth.Invalid()
	}
	return c.Command.decide(w)
}
