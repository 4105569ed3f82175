package runs

import (
	"bytes"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// noteRequesters records principals that created a run of the session, hold the lease of one, or raised
// a request in it, and the people on whose behalf they did.
func (w *workingCopy) noteRequesters(names ...string) {
	if noted := requesters(w.session.Requesters).with(names...); string(noted) != w.session.Requesters {
		w.session.Requesters = string(noted)
		w.saveSession()
	}
}

// ancestorsError says that a decision needs the requesters of the ancestor sessions, which were not
// read, because an approval excludes requesters.
type ancestorsError struct{ parentSessionID, parentRunID string }

func (e *ancestorsError) Error() string { return "the sessions above were not read" }

// requestersOf returns the requesters of a run's approvals. Errors: an ancestorsError.
func (w *workingCopy) requestersOf(run *model.Run, above ancestors) (requesters, error) {
	if err := w.checkAncestors(run.ParentRunID, above); err != nil {
		return "", err
	}
	all := requesters(w.session.Requesters).with(run.Principal, run.HolderPrincipal)
	if above != nil {
		all += "\n" + *above
	}
	return all, nil
}

func (w *workingCopy) checkAncestors(parentRunID string, above ancestors) error {
	parentSessionID := ""
	if w.session != nil {
		parentSessionID = w.session.ParentSessionID
	}
	if above != nil || parentSessionID == "" && parentRunID == "" {
		return nil
	}
	return &ancestorsError{parentSessionID, parentRunID}
}

// checkRaisedAncestors is checkAncestors for a suspension with an approval that excludes requesters.
func (w *workingCopy) checkRaisedAncestors(s *raisedSuspension, parentRunID string) error {
	if s == nil || !excludesRequester(s.Suspension) {
		return nil
	}
	return w.checkAncestors(parentRunID, s.above)
}

// excluded is part of the body of each approval that excludes requesters. Searching for it avoids
// decoding the others.
var excluded = []byte(`"exclude_requester":true`)

// checkRequesters returns requester_excluded when a requester allows an approval that excludes
// requesters. It checks both the credential's principal and the person it acts for. A denial is
// always accepted.
func (r *resolution) checkRequesters(w *workingCopy, run *model.Run) error {
	for i := range r.approvals {
		given := &r.approvals[i]
		if given.Behavior != api.BehaviorAllow {
			continue
		}
		request := w.request(run.RunID, given.RequestID)
		if !ExcludesRequesters(request) {
			continue
		}
		asked, err := w.requestersOf(run, r.checked.above)
		if err != nil {
			return err
		}
		if err := asked.exclude(request.RequestID, w.caller, r.actor); err != nil {
			return err
		}
	}
	return nil
}

// ExcludesRequesters reports whether those who asked for an approval may not allow it.
func ExcludesRequesters(request *model.Request) bool {
	return request.Kind == model.KindApproval && bytes.Contains(request.Body, excluded) && request.Approval().ExcludeRequester
}

// exclude returns requester_excluded when the caller, or the person it acts for or belongs to, is a
// requester.
// Without authentication every caller counts as one.
func (r requesters) exclude(requestID string, caller *auth.Identity, actor Actor) error {
	if caller != nil && caller.Via == auth.ViaOpen {
		return refusal.New(api.CodeRequesterExcluded, "request %s excludes its requester: it is allowed only where callers show who they are", requestID)
	}
	names := []string{actor.Name, actor.ViaPrincipal}
	if caller != nil {
		names = append(names, caller.Principal, caller.OnBehalfOf)
	}
	if r.lists(everybody) {
		return refusal.New(api.CodeRequesterExcluded, "request %s excludes its requester, and too many asked for it to tell them apart: nobody can allow it", requestID)
	}
	for _, name := range names {
		if r.has(name) {
			return refusal.New(api.CodeRequesterExcluded, "request %s excludes its requester, and %s asked for it: somebody else must allow it", requestID, name)
		}
	}
	return nil
}

// notByRequester wraps inForce to skip allow rules that a requester wrote.
func (w *workingCopy) notByRequester(run *model.Run, s *raisedSuspension, inForce func(*rules.Rule) *rules.Rule) func(*rules.Rule) *rules.Rule {
	asked, err := w.requestersOf(run, s.above)
	return func(rule *rules.Rule) *rules.Rule {
		if rule = inForce(rule); rule == nil || rule.Effect != api.RuleAllow {
			return rule
		}
		if err != nil || asked.has(rule.CreatedBy) || asked.has(rule.ViaPrincipal) {
			return nil
		}
		return rule
	}
}
