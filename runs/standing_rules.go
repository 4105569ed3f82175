package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// settleByRules settles the approvals that were just raised and that standing rules decide
// (docs/spec/v1.md#precedence). It reports whether there were any.
func (w *workingCopy) settleByRules(run *model.Run, s *raisedSuspension) bool {
	standing := w.standingRules()
	if len(standing) == 0 {
		return false
	}
	budget := rules.NewBudget(1)
	var resolutions []api.Resolution
	for i := range s.Approvals {
		approval := &s.Approvals[i]
		request := w.request(run.RunID, approval.ID)
		if !request.Open() {
			continue
		}
		verdict := rules.Judge(standing, &rules.Call{
			Budget: budget, SessionID: run.SessionID, AgentID: run.AgentID, ToolName: approval.ToolName, ToolCallID: approval.ToolCallID,
			PatternKeys: approval.PatternKeys, Input: approval.Input, InputDigest: s.inputDigests[i],
		}, w.nowMs)
		if verdict.Effect == api.RuleAsk {
			continue
		}
		for _, used := range verdict.Needed {
			w.countUse(standing, used)
		}
		resolutions = append(resolutions, w.settleByRule(run, request, verdict))
	}
	if len(resolutions) > 0 {
		w.emit(run, api.EventApprovalResolved, approvalResolvedEvent{api.EventApprovalResolved, resolutions})
	}
	return len(resolutions) > 0
}

// settleByRule records the decision of a rule. It is resolved by the author of the rule.
func (w *workingCopy) settleByRule(run *model.Run, request *model.Request, verdict rules.Verdict) api.Resolution {
	rule := verdict.Rule
	resolution := api.Resolution{
		Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow, Reason: rule.Reason,
		ResolvedBy: rule.CreatedBy, Via: api.ViaRule + rule.RuleID, Rule: &api.AppliedRule{RuleID: rule.RuleID, Text: rule.Text},
	}
	if verdict.Effect == api.RuleDeny {
		resolution.Outcome, resolution.Behavior = api.OutcomeDenied, api.BehaviorDeny
	}
	w.editRequest(request).RuleID = rule.RuleID
	return w.settleRequest(run, request, resolution)
}

// standingRules returns the loaded rules that have not ended, oldest first.
func (w *workingCopy) standingRules() []*rules.Rule {
	var standing []*rules.Rule
	for _, rule := range w.state.Rules {
		if rule.WhyOver(w.nowMs) == "" {
			standing = append(standing, rule)
		}
	}
	slices.SortFunc(standing, rules.Compare)
	return standing
}

// countUse counts a decision of a rule with MaxUses. It replaces the rule in the list, so that
// the next request is judged with the new count.
func (w *workingCopy) countUse(standing []*rules.Rule, rule *rules.Rule) {
	if rule.MaxUses == 0 {
		return
	}
	used := w.editRule(rule)
	used.Uses++
	standing[slices.Index(standing, rule)] = used
}

// editRule returns the working copy of a rule, which is written with the change.
func (w *workingCopy) editRule(rule *rules.Rule) *rules.Rule {
	if working := w.rules[rule.RuleID]; working != nil {
		return working
	}
	if w.rules == nil {
		w.rules = map[string]*rules.Rule{}
	}
	working := *rule
	w.rules[rule.RuleID] = &working
	w.changes.UpdatedRules = append(w.changes.UpdatedRules, &working)
	return &working
}

// revokeSessionRules revokes the rules of the session, which ends.
func (w *workingCopy) revokeSessionRules(revokedBy string) {
	var bound []*rules.Rule
	for _, rule := range w.state.Rules {
		if rule.SessionID == w.state.SessionID && rule.RevokedAtMs == 0 {
			bound = append(bound, rule)
		}
	}
	slices.SortFunc(bound, rules.Compare)
	for _, rule := range bound {
		w.revokeRule(rule, revokedBy)
	}
}

// revokeRule revokes a rule and returns its working copy.
func (w *workingCopy) revokeRule(rule *rules.Rule, revokedBy string) *rules.Rule {
	revoked := w.editRule(rule)
	revoked.RevokedAtMs, revoked.RevokedBy = w.nowMs, revokedBy
	return revoked
}

// writeRememberedRule writes the rule that a decision remembers, and returns how the resolution
// names it. It returns nil when the decision remembers nothing.
func (w *workingCopy) writeRememberedRule(request *model.Request, given *ApprovalDecision, actor Actor) *api.AppliedRule {
	if given.Remember == "" {
		return nil
	}
	rule := given.rule(request.Approval(), request.SessionID, w.nowMs)
	rule.RuleID, rule.CreatedBy = given.ruleID, actor.Name
	rule.SourceRunID, rule.SourceRequestID = request.RunID, request.RequestID
	w.changes.NewRules = append(w.changes.NewRules, rule)
	return &api.AppliedRule{RuleID: rule.RuleID, Text: rule.Text}
}
