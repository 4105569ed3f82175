package runs

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// authorize checks under the lock that the caller may issue the command now: its token is still valid,
// its browser is still signed in, the target is within its scope, an agent ends only its own runs, and the caller holds the lease. For a
// target outside the scope, the error is the same as for a missing one.
//
// Errors: invalid_token, session_not_found, run_not_found, rule_not_found, id_conflict, forbidden, lease_lost.
func (c *Call) authorize(w *workingCopy, spec *Spec) error {
	again := c.rechecks(spec)
	if again && c.Caller.TokenID != "" {
		if token := w.state.Tokens[c.Caller.TokenID]; token == nil || !token.Accepts(c.Caller.Credential, w.nowMs) {
			return auth.Invalid()
		}
		if cookie := c.Caller.CookieHash; cookie != "" && w.state.SignIns[cookie] != c.Caller.TokenID {
			return auth.SignedOut()
		}
	}
	reach := reach{reads.ScopeOf(c.Caller), w}
	if reach.scope.Bounded() {
		if err := reach.check(c.Command.Needs(), spec); err != nil {
			return err
		}
	}
	if again && c.Caller.Role == api.RoleAgent {
		if err := c.ownsWhatEnds(w); err != nil {
			return err
		}
	}
	return c.checkLease(w, spec)
}

// checkLease returns an error unless the caller holds the lease that a worker's command uses.
func (c *Call) checkLease(w *workingCopy, spec *Spec) error {
	if spec.Unleased || !slices.Contains(spec.Actions, auth.Work) {
		return nil
	}
	if spec.Lease.RunID == "" {
		return refusal.New(api.CodeLeaseLost, "%s needs a lease", spec.Name)
	}
	run := w.state.Runs[spec.Lease.RunID]
	if run == nil {
		return nil // the command returns run_not_found itself
	}
	return CheckHolder(run, spec.Lease.Fence, c.Caller)
}

// CheckHolder returns lease_lost when another principal claimed the run with this fence. Runs without a
// recorded principal (old claims, or claims by the service) are open to anyone who knows the fence.
func CheckHolder(run *model.Run, fence int64, caller *auth.Identity) error {
	if caller == nil || caller.Via == auth.ViaOpen || fence == 0 || fence != run.Fence ||
		run.HolderPrincipal == "" || run.HolderPrincipal == caller.Principal {
		return nil
	}
	return refusal.New(api.CodeLeaseLost, "run %s was claimed by another principal than %s", run.RunID, caller.Principal)
}

// reach checks rows against a bounded scope.
type reach struct {
	scope reads.Scope
	w     *workingCopy
}

// check returns a not-found error if the command's target is outside the scope.
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
			run := r.w.state.Runs[needs.RunID]
			switch {
			case run == nil: // the command returns run_not_found itself
			case r.scope.FitsRun(run):
				return r.remembered(spec)
			case spec.runID != nil && needs.SessionID != "": // the session's route found the run: do not name it
				return refusal.New(api.CodeRunStateConflict, "session %s has no active run", needs.SessionID)
			default:
				return refusal.UnknownRun(needs.RunID)
			}
			return nil
		}
		if r.session() {
			return nil
		}
	}
	return refusal.UnknownSession(sessionID)
}

// remembered returns forbidden if a decision about a run within the scope writes a rule of a session that is not.
func (r *reach) remembered(spec *Spec) error {
	if !slices.Contains(spec.Actions, auth.WriteRule) || r.rules() {
		return nil
	}
	return refusal.New(api.CodeForbidden, "this credential does not reach the session %s and writes no rule for it: decide without remembering", r.w.state.SessionID)
}

// reaches reports whether a run is within the caller's scope. A caller may reach a session without
// reaching all of its runs.
func (w *workingCopy) reaches(run *model.Run) bool {
	scope := reads.ScopeOf(w.caller)
	return scope.FitsRun(run)
}

// reachedRun returns the session's active run, or nil if there is none within the caller's scope.
func (w *workingCopy) reachedRun() *model.Run {
	if run := w.activeRun(); run != nil && w.reaches(run) {
		return run
	}
	return nil
}

// session reports whether the locked session, which may be new, is within the scope.
func (r *reach) session() bool {
	return r.scope.FitsID(r.w.state.SessionID) && (r.w.session == nil || r.scope.FitsSession(r.w.session))
}

// rules reports whether the locked session's rules are within the scope. A session that does not exist
// yet has no agent.
func (r *reach) rules() bool {
	if r.w.session == nil {
		return r.scope.Fits(r.w.state.SessionID, "")
	}
	return r.scope.FitsSession(r.w.session)
}

// new checks a run or session that the command creates: the session, which may be new, and the new row's
// agent must both be within the scope.
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

// ownsWhatEnds returns forbidden unless the caller created every run that the command may end, including
// runs that are not loaded and that an effect ends later: nothing checks the caller then.
func (c *Call) ownsWhatEnds(w *workingCopy) error {
	owned, whole := true, true
	if runID := c.Command.Needs().RunID; runID != "" {
		run := w.state.Runs[runID]
		owned = run == nil || run.Principal == c.Caller.Principal
	} else {
		besides := map[api.RunKind]int{}
		whole = w.state.Cut[api.KindCall] == nil && w.state.Cut[api.KindParentClarification] == nil
		for _, run := range w.state.Runs {
			active := w.session != nil && run.RunID == w.session.ActiveRunID
			asks := !model.TakesSlot(run.Kind) && !model.Terminal(run.Status)
			if !active && !asks || run.SessionID != w.state.SessionID {
				continue
			}
			owned = owned && run.Principal == c.Caller.Principal
			if asks {
				besides[run.Kind]++
				whole = whole && besides[run.Kind] <= DrainChunk && !w.state.LeftOut[run.RunID]
			}
		}
	}
	switch {
	case !whole:
		return refusal.New(api.CodeForbidden, "an agent does not interrupt more than %d open calls or clarifications, or %d MiB of them, at once: cancel its runs one by one",
			DrainChunk, DrainBytes>>20)
	case !owned:
		return refusal.New(api.CodeForbidden, "an agent cancels and interrupts only what it made: for others it needs the role operator or admin")
	}
	return nil
}
