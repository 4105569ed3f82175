package runs

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Call wraps a command with the caller's identity and context. It is itself a command, decided only if
// its Caller may issue it now. The service issues its own commands without a Call.
type Call struct {
	Command
	// Caller is the authenticated identity; nil: the service itself. Events name the caller's principal as
	// their actor, unless the command names one.
	Caller *auth.Identity
	// Sealer encrypts sensitive values. Without one, a command that involves sensitive values is refused
	// with secrets_not_configured.
	Sealer Sealer
	// Traceparent is the call's trace context, stored with the requests that it raises; empty for none.
	Traceparent string
	// CheckCallback returns an error for a URL that the service may not post callbacks to. If it is nil,
	// requests with a callback are refused. Callbacks with the same owner share delivery slots.
	CheckCallback func(url string) error
	CallbackOwner string
	// OnlyRepeat, if it is not nil, is returned for a call that would change something. A call that repeats
	// an earlier one still gets its recorded reply.
	OnlyRepeat error
}

// Unwrap returns the command inside a Call, and any other command unchanged.
func Unwrap(command Command) Command {
	if call, wraps := command.(*Call); wraps {
		return call.Command
	}
	return command
}

// CallerOf returns the caller's principal from the context, "" when there is none.
func CallerOf(ctx context.Context) string {
	if caller := auth.From(ctx); caller != nil {
		return caller.Principal
	}
	return ""
}

// PersonOf returns the person on whose behalf the context's caller works, "" when there is none.
func PersonOf(ctx context.Context) string {
	if caller := auth.From(ctx); caller != nil {
		return caller.OnBehalfOf
	}
	return ""
}

// Permitted returns an error unless the caller's role may issue the command. Errors: forbidden,
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

// proven reports whether the caller is authenticated. Only then does a lease belong to its holder alone.
func (c *Call) proven() bool { return c.Caller != nil && c.Caller.Via != auth.ViaOpen }

// bounded reports whether the caller's scope excludes anything.
func (c *Call) bounded() bool {
	scope := reads.ScopeOf(c.Caller)
	return scope.Bounded()
}

// rechecks reports whether the caller's token and sign-in are checked again under the lock, so that a token
// revoked or a browser signed out in the meantime decides nothing. Workers' and readers' commands need only the check on arrival.
func (c *Call) rechecks(spec *Spec) bool {
	return c.proven() && slices.ContainsFunc(spec.Actions, func(action auth.Action) bool { return !slices.Contains(atTheDoor, action) })
}

// Needs implements [Command]. It adds the caller's token and sign-in if they are checked again.
func (c *Call) Needs() Needs {
	needs := c.Command.Needs()
	if spec := c.Spec(); c.rechecks(&spec) {
		needs.TokenID, needs.CookieHash = c.Caller.TokenID, c.Caller.CookieHash
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
