package runs

import (
	"cmp"
	"slices"
	"strings"
)

// settleByRules settles what standing rules decide of the approvals that were just
// raised (v1-work.md "Rules"), and reports whether there was any.
func (w *work) settleByRules(run *Run, s *raisedSuspension) bool {
	rules := w.standingRules()
	if len(rules) == 0 {
		return false
	}
	var resolutions []Resolution
	for i := range s.Approvals {
		approval := &s.Approvals[i]
		request := w.request(run.RunID, approval.ID)
		if !request.Open() {
			continue
		}
		made := judge(rules, &RuleCall{
			SessionID: run.SessionID, AgentID: run.AgentID, ToolName: approval.ToolName, ToolCallID: approval.ToolCallID,
			PatternKeys: approval.PatternKeys, Input: approval.Input, InputDigest: s.inputDigests[i],
		}, w.nowMs)
		if made.effect == RuleAsk {
			continue
		}
		for _, used := range made.needed {
			w.use(rules, used)
		}
		resolutions = append(resolutions, w.settleByRule(run, request, made))
	}
	if len(resolutions) > 0 {
		w.emit(run, EventApprovalResolved, approvalResolvedEvent{EventApprovalResolved, resolutions})
	}
	return len(resolutions) > 0
}

// settleByRule records a decision of a rule, in the name of the one who wrote it.
func (w *work) settleByRule(run *Run, request *Request, made verdict) Resolution {
	rule := made.rule
	resolution := Resolution{
		Outcome: OutcomeAllowed, Behavior: BehaviorAllow, Reason: rule.Reason,
		ResolvedBy: rule.CreatedBy, Via: ViaRule + rule.RuleID, Rule: &AppliedRule{rule.RuleID, rule.Text},
	}
	if made.effect == RuleDeny {
		resolution.Outcome, resolution.Behavior = OutcomeDenied, BehaviorDeny
	}
	w.own(request).RuleID = rule.RuleID
	return w.settle(run, request, resolution)
}

// standingRules returns the loaded rules that are not over, oldest first.
func (w *work) standingRules() []*Rule {
	var rules []*Rule
	for _, rule := range w.state.Rules {
		if rule.whyOver(w.nowMs) == "" {
			rules = append(rules, rule)
		}
	}
	slices.SortFunc(rules, compareRules)
	return rules
}

// use counts a decision of a rule that has a bound, and puts its new image into the
// list, so that the next request sees it.
func (w *work) use(rules []*Rule, rule *Rule) {
	if rule.MaxUses == 0 {
		return
	}
	used := w.ownRule(rule)
	used.Uses++
	rules[slices.Index(rules, rule)] = used
}

// ownRule returns the working copy of a rule, which is written with the change.
func (w *work) ownRule(rule *Rule) *Rule {
	if working := w.rules[rule.RuleID]; working != nil {
		return working
	}
	if w.rules == nil {
		w.rules = map[string]*Rule{}
	}
	working := *rule
	w.rules[rule.RuleID] = &working
	w.changes.UpdatedRules = append(w.changes.UpdatedRules, &working)
	return &working
}

// revokeSessionRules ends the rules of a session that ends.
func (w *work) revokeSessionRules(revokedBy string) {
	var rules []*Rule
	for _, rule := range w.state.Rules {
		if rule.SessionID == w.state.SessionID && rule.RevokedAtMs == 0 {
			rules = append(rules, rule)
		}
	}
	slices.SortFunc(rules, compareRules)
	for _, rule := range rules {
		w.revoke(rule, revokedBy)
	}
}

func (w *work) revoke(rule *Rule, revokedBy string) *Rule {
	revoked := w.ownRule(rule)
	revoked.RevokedAtMs, revoked.RevokedBy = w.nowMs, revokedBy
	return revoked
}

// compareRules orders rules by age; of equals the id decides.
func compareRules(a, b *Rule) int {
	return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), strings.Compare(a.RuleID, b.RuleID))
}
