package runs

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Call is a command with the circumstances in which it was given. It is a command itself, which is decided
// only if its Caller may give it at that moment. A command without a Call is the service's own.
type Call struct {
	Command
	// Caller is whose credential the call was made with; nil: the service itself. Events name the caller's
	// principal as their actor, unless the command names one.
	Caller *auth.Identity
	// Sealer encrypts sensitive values. Without one, a command that brings or meets something sensitive is
	// refused with secrets_not_configured.
	Sealer Sealer
	// Traceparent is the trace of the call, which the requests that it raises keep; empty for none.
	Traceparent string
	// CheckCallback returns an error for a URL that callbacks may not be posted to. Without it, a request
	// with a callback is refused. Callbacks with the same owner share delivery slots.
	CheckCallback func(url string) error
	CallbackOwner string
}

// Unwrap returns the command of a Call, and any other command as it is.
func Unwrap(command Command) Command {
	if call, wraps := command.(*Call); wraps {
		return call.Command
	}
	return command
}

// CallerOf returns the principal whose credential a call was made with, "" when there is none.
func CallerOf(ctx context.Context) string {
	if caller := auth.From(ctx); caller != nil {
		return caller.Principal
	}
	return ""
}

// Permitted returns an error unless the caller's role may give the command. Errors: forbidden,
// requester_exclusion_needs_auth.
func (c *Call) Permitted(spec *Spec) error {
	if c.Caller == nil {
		return nil
	}
	if c.Caller.Via == auth.ViaOpen && spec.ExcludesRequester {
		return refusal.New(api.CodeRequesterExclusionNeedsAuth, "exclude_requester needs a service that requires credentials")
	}
	actions := spec.Actions
	if len(actions) == 0 {
		actions = nobodysRight
	}
	for _, action := range actions {
		if err := c.Caller.Check(action); err != nil {
			return err
		}
	}
	return nil
}

// proven reports whether the caller has shown who it is: then a lease works for its holder alone.
func (c *Call) proven() bool { return c.Caller != nil && c.Caller.Via != auth.ViaOpen }

// rechecks reports whether the caller's token is checked again under the lock, so that one that was revoked
// after the call came in decides nothing. For what workers and readers do it is enough that the token
// worked when the call came in.
func (c *Call) rechecks(spec *Spec) bool {
	return c.proven() && slices.ContainsFunc(spec.Actions, func(action auth.Action) bool { return !slices.Contains(atTheDoor, action) })
}

// Needs implements [Command]: what the command needs, and the caller's token if it is checked again.
func (c *Call) Needs() Needs {
	needs := c.Command.Needs()
	if spec := c.Spec(); c.rechecks(&spec) {
		needs.TokenID = c.Caller.TokenID
	}
	return needs
}

func (c *Call) prepare(_ *Call, newID IDSource) error { return c.Command.prepare(c, newID) }

func (c *Call) decide(w *workingCopy) (Reply, error) {
	if c.Caller == nil {
		return c.Command.decide(w)
	}
	spec := c.Spec()
	w.actor, w.caller = cmp.Or(w.actor, c.Caller.Principal), c.Caller
	if err := c.authorize(w, &spec); err != nil {
		return Reply{}, err
	}
	return c.Command.decide(w)
}
