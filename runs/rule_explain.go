package runs

import "slices"

// Explanation says what rules would do about a call (decisions.md 18).
type Explanation struct {
	// Decision is what would happen; RuleAsk also when no rule applies.
	Decision RuleEffect      `json:"decision"`
	Rules    []ExplainedRule `json:"rules"`
}

// ExplainedRule says of one rule whether it applies. One that applies may still be
// beaten by another: deny goes before ask, and ask before allow.
type ExplainedRule struct {
	RuleID  string     `json:"rule_id"`
	Text    string     `json:"text"`
	Effect  RuleEffect `json:"effect"`
	Applies bool       `json:"applies"`
	// WhyNot is in plain words, and empty for a rule that applies.
	WhyNot string `json:"why_not,omitempty"`
}

// ExplainRules says what the rules would do if the call were asked for at that moment,
// oldest rule first. The rules may be of any session, revoked or expired. The digest
// of the input is computed when there is an input and no digest.
func ExplainRules(rules []Rule, call RuleCall, nowMs int64) Explanation {
	if call.InputDigest == "" && call.Input != nil {
		// What has no canonical form was never asked for, and has no digest.
		call.InputDigest, _ = Digest(call.Input)
	}
	ordered := make([]*Rule, len(rules))
	for i := range rules {
		ordered[i] = &rules[i]
	}
	slices.SortFunc(ordered, compareRules)
	made := judge(ordered, &call, nowMs)
	explanation := Explanation{Decision: made.effect, Rules: make([]ExplainedRule, len(ordered))}
	for i, rule := range ordered {
		explanation.Rules[i] = ExplainedRule{
			RuleID: rule.RuleID, Text: rule.Text, Effect: rule.Effect,
			Applies: made.whyNot[i] == "", WhyNot: made.whyNot[i],
		}
	}
	return explanation
}
