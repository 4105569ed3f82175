package rules

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// explainedBudgets is the number of budgets that one explanation may spend.
const explainedBudgets = 10

// Explain returns what the rules would decide about a call raised at nowMs, and for each rule,
// oldest first, whether it applies or why not (docs/spec/v1.md#explain). The rules may be of any
// session, revoked or expired, and in any order. The digest of the input is computed unless the
// call has one.
func Explain(rules []Rule, call Call, nowMs int64) api.Explanation {
	if call.InputDigest == "" && call.Input != nil {
		// An input without a canonical form cannot be raised, so no digest matches it.
		call.InputDigest, _ = document.Digest(call.Input)
	}
	ordered := make([]*Rule, len(rules))
	for i := range rules {
		ordered[i] = &rules[i]
	}
	slices.SortFunc(ordered, Compare)
	// An explanation holds no lock and judges more rules than a decision loads.
	call.Budget = NewBudget(explainedBudgets)
	verdict := Judge(ordered, &call, nowMs)
	explanation := api.Explanation{Decision: verdict.Effect, Rules: make([]api.ExplainedRule, len(ordered))}
	for i, rule := range ordered {
		explanation.Rules[i] = api.ExplainedRule{
			RuleID: rule.RuleID, Text: rule.Text, Effect: rule.Effect,
			Applies: verdict.WhyNot[i] == "", WhyNot: verdict.WhyNot[i],
		}
	}
	return explanation
}
