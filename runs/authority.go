package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// authorized is a command that is decided only if its caller may give it at that moment.
type authorized struct {
	Command
	caller *auth.Identity
	scope  Scope
	// again says that the caller's token, and what an agent made, is looked at under the lock.
	again bool
	// proven says that the caller has shown who it is: then a lease works for its holder alone.
	proven bool
}

// Authorized returns a command that is decided only if what it is about is within the caller's
// scope: what is outside of it is answered as what does not exist.
//
// With again it must also be that the caller's token works at that moment, so that one that was
// revoked after the call came in decides nothing, and that what an agent ends is what it made. The
// token of a caller without one is not checked.
//
// Where callers show who they are, a lease works for the principal that holds it, whoever else knows
// its fence.
//
// Errors besides the command's: session_not_found, run_not_found, rule_not_found, forbidden, lease_lost; with
// again invalid_token.
func Authorized(command Command, caller *auth.Identity, again bool) Command {
	proven := caller.Via != auth.ViaOpen
	c := &authorized{Command: command, caller: caller, scope: ScopeOf(caller), again: again && proven, proven: proven}
	if !c.proven && !c.scope.Bounded() {
		return command
	}
	return c
}

// fenceOf returns the run and the fence that a command of a worker shows, 0 for one that shows none.
func fenceOf(command Command) (runID string, fence int64) {
	switch c := command.(type) {
	case *Heartbeat:
		return c.RunID, c.Fence
	case *Suspend:
		return c.RunID, c.Fence
	case *Withdraw:
		return c.RunID, c.Fence
	case *AskClarification:
		return c.RunID, c.Fence
	case *AppendEvents:
		return c.RunID, c.Fence
	case *Release:
		return c.RunID, c.Fence
	case *Complete:
		return c.RunID, c.Fence
	case *Fail:
		return c.RunID, c.Fence
	case *RedeemGrant:
		if c.WithoutLease {
			return "", 0
		}
		return c.RunID, c.Fence
	}
	return "", 0
}

// CheckHolder returns lease_lost when the fence is that of a claim of another principal. Runs that were
// claimed before principals were kept, and by the service itself, are anybody's who knows the fence.
func CheckHolder(run *model.Run, fence int64, caller *auth.Identity) error {
	if caller == nil || caller.Via == auth.ViaOpen || fence == 0 || fence != run.Fence ||
		run.HolderPrincipal == "" || run.HolderPrincipal == caller.Principal {
		return nil
	}
	return refusal.New(api.CodeLeaseLost, "run %s was claimed by another principal than %s", run.RunID, caller.Principal)
}

// Needs implements Command.
func (c *authorized) Needs() Needs {
	needs := c.Command.Needs()
	if c.again {
		needs.TokenID = c.caller.TokenID
	}
	return needs
}

func (c *authorized) decide(w *workingCopy) (Reply, error) {
	if c.again && c.caller.TokenID != "" {
		if token := w.state.Tokens[c.caller.TokenID]; token == nil || !token.Accepts(c.caller.Credential, w.nowMs) {
			return Reply{}, auth.Invalid()
		}
	}
	if c.scope.Bounded() {
		if err := c.reaches(w); err != nil {
			return Reply{}, err
		}
	}
	if c.again && c.caller.Role == api.RoleAgent && !c.ownsWhatEnds(w) {
		return Reply{}, refusal.New(api.CodeForbidden, "an agent cancels and interrupts only what it made: for the rest it takes the role operator or admin")
	}
	runID, fence := fenceOf(c.Command)
	if run := w.state.Runs[runID]; run != nil {
		if err := CheckHolder(run, fence, c.caller); err != nil {
			return Reply{}, err
		}
	}
	return c.Command.decide(w)
}

// reaches returns the error of what does not exist for a command about something outside of the
// caller's scope.
func (c *authorized) reaches(w *workingCopy) error {
	needs := c.Command.Needs()
	sessionID := w.state.SessionID
	switch command := c.Command.(type) {
	case *ClaimEffect, *OpenClarification, *FinishEffect:
		// What a question owes to another session; only [Ask] gives these commands.
		return nil
	case *RevokeRule:
		if !c.reachesRulesOf(w) {
			return refusal.UnknownRule(command.RuleID)
		}
		return nil
	case *AddRule:
		if !c.reachesRulesOf(w) {
			return refusal.UnknownSession(sessionID)
		}
		return nil
	case *CreateSession:
		return c.reachesNew(w, command.AgentID)
	case *CreateRun:
		if existing := w.state.Runs[command.RunID]; existing != nil && command.runIDGiven && !c.scope.FitsRun(existing) {
			return refusal.RunIDTaken(command.RunID)
		}
		return c.reachesNew(w, command.AgentID)
	}
	if needs.RunID != "" {
		if run := w.state.Runs[needs.RunID]; run != nil && !c.scope.FitsRun(run) {
			return refusal.UnknownRun(needs.RunID)
		}
		return nil // the command looks for the run itself
	}
	if !c.reachesSession(w) {
		return refusal.UnknownSession(sessionID)
	}
	return nil
}

// reachesSession reports whether the locked session, which may be new, is within the scope.
func (c *authorized) reachesSession(w *workingCopy) bool {
	return c.scope.FitsID(w.state.SessionID) && (w.session == nil || c.scope.FitsSession(w.session))
}

// reachesRulesOf reports whether the locked session's rules are within the scope. A session that
// does not exist yet has no agent.
func (c *authorized) reachesRulesOf(w *workingCopy) bool {
	if w.session == nil {
		return c.scope.Fits(w.state.SessionID, "")
	}
	return c.scope.FitsSession(w.session)
}

// reachesNew checks what is made in a session: the session, which may be new, must be within
// the scope, and so must be the agent of what is made.
func (c *authorized) reachesNew(w *workingCopy, agentID string) error {
	sessionID := w.state.SessionID
	if !c.reachesSession(w) {
		return refusal.UnknownSession(sessionID)
	}
	if w.session != nil {
		agentID = cmp.Or(agentID, w.session.AgentID)
	}
	if agentID = cmp.Or(agentID, model.DefaultAgentID); !c.scope.FitsNew(sessionID, agentID) {
		return refusal.New(api.CodeForbidden, "this credential does not reach the agent %s: name one that it does", agentID)
	}
	return nil
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
		asks := !model.TakesSlot(run.Kind) && !model.Terminal(run.Status)
		if (active || asks) && run.SessionID == w.state.SessionID && run.Principal != c.caller.Principal {
			return false
		}
	}
	return true
}
