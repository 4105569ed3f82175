package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// callOf returns a suspension's approval in the form that rules match, without its session and agent.
func callOf(s *raisedSuspension, at int) *rules.Call {
	approval := &s.Approvals[at]
	return &rules.Call{
		ToolName: approval.ToolName, ToolCallID: approval.ToolCallID, PatternKeys: approval.PatternKeys,
		Input: approval.Input, InputDigest: s.inputDigests[at], Directory: approval.Directory,
	}
}

func matchApproval(s *raisedSuspension, at int, budget *rules.Budget, sets ...*rules.Set) *rules.Matches {
	call := callOf(s, at)
	call.Budget = budget
	return rules.MatchSets(call, slices.DeleteFunc(sets, func(set *rules.Set) bool { return set == nil })...)
}

// checkMatched takes over the matches of a suspension, which may be nil. It returns a
// [RulesChangedError] if the rules have changed since the match. Call it before the decision raises
// anything. Without matches, as in tests without a store, it matches the rules of the State.
func (w *workingCopy) checkMatched(s *raisedSuspension) error {
	if s == nil {
		return nil
	}
	w.matched = s.matched
	if w.matched == nil {
		w.matched = w.matchLoaded(s)
	}
	if w.matched.undecided || w.matched.versions.Same(w.state.RuleVersions) {
		return nil
	}
	return &RulesChangedError{w.state.RuleVersions}
}

// matchLoaded matches the approvals against the State's rules. Under a session's lock these are
// only exact rules.
func (w *workingCopy) matchLoaded(s *raisedSuspension) *matchedRules {
	var standing []*rules.Rule
	for _, rule := range w.state.Rules {
		if !rule.Exact() && w.holdsHere(rule) {
			standing = append(standing, rule)
		}
	}
	set, budget := rules.NewSet(standing, true), rules.NewBudget(1)
	matched := &matchedRules{versions: w.state.RuleVersions, of: make([]*rules.Matches, len(s.Approvals))}
	for i := range s.Approvals {
		matched.of[i] = matchApproval(s, i, budget, set)
	}
	return matched
}

func (w *workingCopy) holdsHere(rule *rules.Rule) bool {
	return rule.SessionID == rules.AllSessions || rule.SessionID == w.state.SessionID
}

// ruling has the rules that decide an approval of a suspension, and which of them are in force.
type ruling struct {
	matches *rules.Matches
	inForce func(*rules.Rule) *rules.Rule
}

// rulings returns the rulings of a suspension's approvals, in their order; nil if people decide regardless of
// the rules. Call checkMatched first.
func (w *workingCopy) rulings(run *model.Run, s *raisedSuspension) []ruling {
	if w.matched == nil || w.matched.undecided {
		return nil
	}
	exact := w.exactRules()
	all := make([]ruling, len(s.Approvals))
	for i := range s.Approvals {
		one := &all[i]
		one.matches = w.matched.of[i]
		if same := exact[s.inputDigests[i]]; len(same) > 0 {
			one.matches = one.matches.With(same, callOf(s, i))
			if tooManyLoaded(same) {
				one.matches.Leave()
			}
		}
		one.inForce = func(rule *rules.Rule) *rules.Rule { return w.inForce(rule, run) }
		if s.Approvals[i].ExcludeRequester {
			one.inForce = w.notByRequester(run, s, one.inForce)
		}
	}
	return all
}

// settleByRules settles the new approvals that standing rules decide
// (docs/spec/v1.md#precedence). It reports whether there were any.
func (w *workingCopy) settleByRules(run *model.Run, s *raisedSuspension, rulings []ruling) bool {
	var resolutions []document.Value
	for i := range rulings {
		request := w.request(run.RunID, s.Approvals[i].ID)
		if !request.Open() {
			continue
		}
		verdict := rulings[i].matches.Judge(rulings[i].inForce)
		if verdict.Effect == api.RuleAsk {
			continue
		}
		for _, used := range verdict.Needed {
			if used.MaxUses != 0 {
				w.editRule(used).Uses++
			}
		}
		resolutions = append(resolutions, w.settleByRule(run, request, verdict))
	}
	if len(resolutions) > 0 {
		w.emitResolved(run, resolutions)
	}
	return len(resolutions) > 0
}

// exactRules returns the loaded exact rules that apply to the session, keyed by input digest.
func (w *workingCopy) exactRules() map[string][]*rules.Rule {
	var exact map[string][]*rules.Rule
	for _, rule := range w.state.Rules {
		if rule.Exact() && w.holdsHere(rule) {
			put(&exact, rule.Match.InputDigest, append(exact[rule.Match.InputDigest], rule))
		}
	}
	return exact
}

// tooManyLoaded reports whether more exact rules for one input may exist than were loaded.
func tooManyLoaded(same []*rules.Rule) bool {
	var ofAll, ofSession RuleCount
	for _, rule := range same {
		loaded := &ofSession
		if rule.SessionID == rules.AllSessions {
			loaded = &ofAll
		}
		loaded.Rules++
		loaded.Bytes += int64(len(rule.Text) + len(rule.Reason))
	}
	tooMany := func(c RuleCount) bool {
		return c.Rules >= MaxExactRulesLoaded || c.Bytes >= MaxExactRuleBytesLoaded
	}
	return tooMany(ofAll) || tooMany(ofSession)
}

// inForce returns a rule as this decision has changed it, or nil if it has ended or is for another
// agent.
func (w *workingCopy) inForce(rule *rules.Rule, run *model.Run) *rules.Rule {
	if rule.AgentID != "" && rule.AgentID != run.AgentID {
		return nil
	}
	if working := w.rules[rule.RuleID]; working != nil {
		rule = working
	}
	if rule.WhyOver(w.nowMs) != "" {
		return nil
	}
	return rule
}

// settleByRule records a rule's decision. The rule's author is recorded as the decider.
func (w *workingCopy) settleByRule(run *model.Run, request *model.Request, verdict rules.Verdict) document.Value {
	rule := verdict.Rule
	resolution := api.Resolution{
		Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow, Reason: rule.Reason,
		ResolvedBy: rule.CreatedBy, Via: api.ViaRule + rule.RuleID, Rule: &api.AppliedRule{RuleID: rule.RuleID, Text: rule.Text},
	}
	if verdict.Effect == api.RuleDeny {
		resolution.Outcome, resolution.Behavior = api.OutcomeDenied, api.BehaviorDeny
	}
	w.editRequest(request).RuleID = rule.RuleID
	_, value := w.settleRequest(run, request, resolution)
	return value
}

// editRule returns the working copy of a rule, which is written with the change.
func (w *workingCopy) editRule(rule *rules.Rule) *rules.Rule {
	if working := w.rules[rule.RuleID]; working != nil {
		return working
	}
	working := *rule
	put(&w.rules, rule.RuleID, &working)
	w.changes.UpdatedRules = append(w.changes.UpdatedRules, &working)
	return &working
}

// revokeSessionRules revokes the rules in force of the session, which is ending. The limits do not count the rules that are over,
// so a write for each of them would be a change without bounds.
func (w *workingCopy) revokeSessionRules(actor Actor) {
	var bound []*rules.Rule
	for _, rule := range w.state.Rules {
		if rule.SessionID == w.state.SessionID && rule.WhyOver(w.nowMs) == "" {
			bound = append(bound, rule)
		}
	}
	slices.SortFunc(bound, rules.Compare)
	for _, rule := range bound {
		w.logRule(api.AuditRuleRevoked, w.revokeRule(rule, actor.Name), actor)
	}
}

// revokeRule revokes a rule and returns its working copy.
func (w *workingCopy) revokeRule(rule *rules.Rule, revokedBy string) *rules.Rule {
	revoked := w.editRule(rule)
	revoked.RevokedAtMs, revoked.RevokedBy = w.nowMs, revokedBy
	return revoked
}

// writeRememberedRule writes the rule that a decision remembers, and returns its reference for the
// resolution. It returns nil when the decision remembers nothing.
func (w *workingCopy) writeRememberedRule(request *model.Request, given *ApprovalDecision, actor Actor) *api.AppliedRule {
	if given.Remember == "" {
		return nil
	}
	rule := given.rule(request.Approval(), request.SessionID, w.nowMs)
	rule.RuleID, rule.CreatedBy, rule.ViaPrincipal = given.ruleID, actor.Name, actor.ViaPrincipal
	rule.SourceRunID, rule.SourceRequestID = request.RunID, request.RequestID
	w.changes.NewRules = append(w.changes.NewRules, rule)
	if rule.SessionID == rules.AllSessions {
		w.logRule(api.AuditRuleCreated, rule, actor)
	}
	return &api.AppliedRule{RuleID: rule.RuleID, Text: rule.Text}
}

// logRule appends the creation or revocation of a rule to the audit log.
func (w *workingCopy) logRule(what api.AuditEventType, rule *rules.Rule, actor Actor) {
	event := api.AuditEvent{
		Type: what, Via: actor.Via, ViaPrincipal: actor.ViaPrincipal,
		RuleID: rule.RuleID, SessionID: rule.SessionID, Effect: rule.Effect, Text: rule.Text,
	}
	if w.caller != nil {
		event.ByTokenID = w.caller.TokenID
	}
	w.changes.Entries = append(w.changes.Entries, journal.New(w.nowMs, actor.Name, event))
}
