package rules

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// ExplainRules says what the rules would do if the call were asked for at that moment,
// oldest rule first. The rules may be of any session, revoked or expired. The digest
// of the input is computed when there is an input and no digest.
func Explain(rules []Rule, call Call, nowMs int64) api.Explanation {
	if call.InputDigest == "" && call.Input != nil {
		// What has no canonical form was never asked for, and has no digest.
		call.InputDigest, _ = document.Digest(call.Input)
	}
	ordered := make([]*Rule, len(rules))
	for i := range rules {
		ordered[i] = &rules[i]
	}
	slices.SortFunc(ordered, Compare)
	made := Judge(ordered, &call, nowMs)
	explanation := api.Explanation{Decision: made.Effect, Rules: make([]api.ExplainedRule, len(ordered))}
	for i, rule := range ordered {
		explanation.Rules[i] = api.ExplainedRule{
			RuleID: rule.RuleID, Text: rule.Text, Effect: rule.Effect,
			Applies: made.WhyNot[i] == "", WhyNot: made.WhyNot[i],
		}
	}
	return explanation
}
