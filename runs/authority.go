package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// authorized is a command that is decided only if its caller may give it at that moment.
type authorized struct {
	Command
	caller *auth.Identity
}

// Authorized returns a command that is decided only if the caller's token works at that moment: one
// that was revoked after the call came in decides nothing. For an agent it must be about what the
// agent made. A caller without a token is not checked.
//
// Errors besides the command's: invalid_token, forbidden.
func Authorized(command Command, caller *auth.Identity) Command {
	if caller.TokenID == "" {
		return command
	}
	return &authorized{command, caller}
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
	needs.TokenID = c.caller.TokenID
	return needs
}

func (c *authorized) decide(w *workingCopy) (Reply, error) {
	token := w.state.Tokens[c.caller.TokenID]
	if token == nil || !token.Accepts(c.caller.Credential, w.nowMs) {
		return Reply{}, auth.Invalid()
	}
	if c.caller.Role == api.RoleAgent && !c.ownsWhatEnds(w) {
		return Reply{}, refusal.New(api.CodeForbidden, "an agent cancels and interrupts only what it made: for the rest it takes the role operator or admin")
	}
	return c.Command.decide(w)
}

// ownsWhatEnds reports whether the caller made every run that the command may end.
func (c *authorized) ownsWhatEnds(w *workingCopy) bool {
	needs := c.Command.Needs()
	if needs.RunID != "" {
		run := w.state.Runs[needs.RunID]
		return run == nil || run.Principal == c.caller.Principal
	}
	for _, run := range w.state.Runs {
		active := w.session != nil && run.RunID == w.session.ActiveRunID
		asks := run.Kind == api.KindParentClarification && !model.Terminal(run.Status)
		if (active || asks) && run.SessionID == w.state.SessionID && run.Principal != c.caller.Principal {
			return false
		}
	}
	return true
}
