package runs

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// authorize checks under the lock that the caller may give the command at this moment: that its token still
// works, that it reaches what the command is about, that an agent ends only what it made, and that the
// lease is the caller's. What the caller does not reach is answered as what does not exist.
//
// Errors: invalid_token, session_not_found, run_not_found, rule_not_found, id_conflict, forbidden, lease_lost.
func (c *Call) authorize(w *workingCopy, spec *Spec) error {
	again := c.rechecks(spec)
	if again && c.Caller.TokenID != "" {
		if token := w.state.Tokens[c.Caller.TokenID]; token == nil || !token.Accepts(c.Caller.Credential, w.nowMs) {
			return auth.Invalid()
		}
	}
	reach := reach{ScopeOf(c.Caller), w}
	if reach.scope.Bounded() {
		if err := reach.check(c.Command.Needs(), spec); err != nil {
			return err
		}
	}
	if again && c.Caller.Role == api.RoleAgent && !c.ownsWhatEnds(w) {
		return refusal.New(api.CodeForbidden, "an agent cancels and interrupts only what it made: for others it needs the role operator or admin")
	}
	return c.checkLease(w, spec)
}

// checkLease returns an error unless the lease of a worker's command is the caller's.
func (c *Call) checkLease(w *workingCopy, spec *Spec) error {
	if spec.Unleased || !slices.Contains(spec.Actions, auth.Work) {
		return nil
	}
	if spec.Lease.RunID == "" {
		return refusal.New(api.CodeLeaseLost, "%s needs a lease", spec.Name)
	}
	run := w.state.Runs[spec.Lease.RunID]
	if run == nil {
		return nil // the command looks for the run itself
	}
	return CheckHolder(run, spec.Lease.Fence, c.Caller)
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

// reach checks what is within a bounded scope, in the rows of a decision.
type reach struct {
	scope Scope
	w     *workingCopy
}

// check returns the error of what does not exist for a command about something outside of the scope.
func (r *reach) check(needs Needs, spec *Spec) error {
	sessionID := r.w.state.SessionID
	switch spec.Target {
	case TargetElsewhere:
		return nil
	case TargetRule:
		if !r.rules() {
			return refusal.UnknownRule(needs.RuleID)
		}
		return nil
	case TargetRules:
		if !r.rules() {
			return refusal.UnknownSession(sessionID)
		}
		return nil
	case TargetNew:
		if existing := r.w.state.Runs[needs.ChosenRunID]; existing != nil && !r.scope.FitsRun(existing) {
			return refusal.RunIDTaken(needs.ChosenRunID)
		}
		return r.new(spec.AgentID)
	case TargetNamed:
		if needs.RunID != "" {
			if run := r.w.state.Runs[needs.RunID]; run != nil && !r.scope.FitsRun(run) {
				return refusal.UnknownRun(needs.RunID)
			}
			return nil // the command looks for the run itself
		}
		if r.session() {
			return nil
		}
	}
	return refusal.UnknownSession(sessionID)
}

// session reports whether the locked session, which may be new, is within the scope.
func (r *reach) session() bool {
	return r.scope.FitsID(r.w.state.SessionID) && (r.w.session == nil || r.scope.FitsSession(r.w.session))
}

// rules reports whether the locked session's rules are within the scope. A session that does not exist yet
// has no agent.
func (r *reach) rules() bool {
	if r.w.session == nil {
		return r.scope.Fits(r.w.state.SessionID, "")
	}
	return r.scope.FitsSession(r.w.session)
}

// new checks what is created in a session: the session, which may be new, must be within the scope, and so
// must the agent of what is created.
func (r *reach) new(agentID string) error {
	sessionID := r.w.state.SessionID
	if !r.session() {
		return refusal.UnknownSession(sessionID)
	}
	if r.w.session != nil {
		agentID = cmp.Or(agentID, r.w.session.AgentID)
	}
	if agentID = cmp.Or(agentID, model.DefaultAgentID); !r.scope.FitsNew(sessionID, agentID) {
		return refusal.New(api.CodeForbidden, "this credential does not reach the agent %s: name one that it does", agentID)
	}
	return nil
}

// ownsWhatEnds reports whether the caller made every run that the command may end.
func (c *Call) ownsWhatEnds(w *workingCopy) bool {
	if runID := c.Command.Needs().RunID; runID != "" {
		run := w.state.Runs[runID]
		return run == nil || run.Principal == c.Caller.Principal
	}
	for _, run := range w.state.Runs {
		active := w.session != nil && run.RunID == w.session.ActiveRunID
		asks := !model.TakesSlot(run.Kind) && !model.Terminal(run.Status)
		if (active || asks) && run.SessionID == w.state.SessionID && run.Principal != c.Caller.Principal {
			return false
		}
	}
	return true
}
