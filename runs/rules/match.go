package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Call is a tool call as rules match it.
type Call struct {
	SessionID   string // empty for none: only rules of all sessions apply
	AgentID     string
	ToolName    string
	ToolCallID  string
	PatternKeys []string
	Input       api.JSON // nil when it is unknown: then no condition on the input holds
	// InputDigest is the [document.Digest] of Input. [Judge] does not compute it.
	InputDigest string

	// Budget bounds the work of matching globs. Calls that are judged together share one;
	// nil stands for a new one.
	Budget *Budget

	// members are those of Input, decoded when the first glob needs them. texts are what
	// globs are matched against, by the name of the member.
	members map[string]api.JSON
	texts   map[string]string
}

// Verdict is what several rules together decide about a call.
type Verdict struct {
	Effect api.RuleEffect
	// Rule is the rule that is recorded as the author of the decision: the oldest that denies,
	// else the oldest that asks, else the rule that completed the permission, counted from the
	// oldest on. It is nil when no rule applies; then Effect is ask.
	Rule *Rule
	// Needed are the rules without which the decision would be another one, Rule among them.
	// The caller counts a use of each.
	Needed []*Rule
	// WhyNot says for each rule, in the order given to Judge, why it does not apply; empty for
	// a rule that does.
	WhyNot []string
}

// Judge decides a call by rules at a moment: deny goes before ask and ask before allow,
// whatever their age (docs/spec/v1.md#precedence). The rules must be sorted by [Compare].
// Revoked, expired and used up ones may be among them; they do not apply. It changes no rule.
func Judge(rules []*Rule, call *Call, nowMs int64) Verdict {
	if call.Budget == nil {
		call.Budget = NewBudget(1)
	}
	verdict := Verdict{Effect: api.RuleAsk, WhyNot: make([]string, len(rules))}
	for i, rule := range rules {
		verdict.WhyNot[i] = rule.whyNot(call, nowMs)
	}
	allowing, needed := verdict.allow(rules, call)
	for _, effect := range []api.RuleEffect{api.RuleDeny, api.RuleAsk} {
		for i, rule := range rules {
			if rule.Effect == effect && verdict.WhyNot[i] == "" {
				verdict.Effect, verdict.Rule, verdict.Needed = effect, rule, []*Rule{rule}
				return verdict
			}
		}
	}
	if allowing != nil {
		verdict.Effect, verdict.Rule, verdict.Needed = api.RuleAllow, allowing, needed
	}
	return verdict
}

// allow returns the rules that allow the call together: one rule without pattern keys, or
// several that cover all keys of the call. It sets WhyNot of rules that cover only some keys
// when no rule covers the others.
func (v *Verdict) allow(rules []*Rule, call *Call) (allowing *Rule, needed []*Rule) {
	missing := slices.Clone(call.PatternKeys)
	var covering []*Rule
	for i, rule := range rules {
		if rule.Effect != api.RuleAllow || v.WhyNot[i] != "" {
			continue
		}
		if len(rule.Match.PatternKeys) == 0 {
			if allowing == nil {
				allowing, needed = rule, []*Rule{rule}
			}
			continue
		}
		missing = slices.DeleteFunc(missing, func(key string) bool { return slices.Contains(rule.Match.PatternKeys, key) })
		covering = append(covering, rule)
		if len(missing) == 0 && allowing == nil {
			allowing, needed = rule, neededOf(covering, call.PatternKeys)
		}
	}
	if len(missing) > 0 {
		for i, rule := range rules {
			if slices.Contains(covering, rule) {
				v.WhyNot[i] = "nothing allows the call's pattern key " + quoted(missing[0])
			}
		}
	}
	return allowing, needed
}

// neededOf drops the rules whose keys are covered by later ones, oldest first.
func neededOf(covering []*Rule, keys []string) []*Rule {
	open := slices.Clone(keys)
	var needed []*Rule
	for _, rule := range slices.Backward(covering) {
		left := slices.DeleteFunc(slices.Clone(open), func(key string) bool { return slices.Contains(rule.Match.PatternKeys, key) })
		if len(left) < len(open) {
			needed, open = append(needed, rule), left
		}
	}
	return needed
}

// paramNames returns the names of the params, sorted.
func paramNames(m *api.RuleMatch) []string {
	names := make([]string, 0, len(m.Params))
	for name := range m.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// param returns the text of a member of the input that a glob is matched against: the value
// of a text, else the compact JSON of the value. It returns false when there is no such
// member.
func (c *Call) param(name string) (string, bool) {
	if text, known := c.texts[name]; known {
		return text, true
	}
	if c.members == nil {
		c.members, c.texts = map[string]api.JSON{}, map[string]string{}
		if document.Kind(c.Input) == '{' && json.Unmarshal(c.Input, &c.members) != nil {
			c.members = map[string]api.JSON{}
		}
	}
	value, there := c.members[name]
	if !there {
		return "", false
	}
	var text string
	if document.Kind(value) == '"' {
		if json.Unmarshal(value, &text) != nil {
			return "", false
		}
	} else {
		compact, err := document.Compact(value)
		if err != nil {
			return "", false
		}
		text = string(compact)
	}
	c.texts[name] = text
	return text, true
}

// quoted returns a caller's text as it may stand in a sentence: in quotes, invisible characters
// escaped, cut after shownLength characters. So it cannot pass as a part of the sentence.
func quoted(text string) string {
	shown := 0
	for at := range text {
		if shown == shownLength {
			return strconv.Quote(text[:at]) + "… (cut, " + strconv.Itoa(len(text)) + " bytes in all)"
		}
		shown++
	}
	return strconv.Quote(text)
}

// plain returns a name as it is when it cannot be mistaken for other words, else quoted.
func plain(name string) string {
	if refusal.ValidID(strings.ReplaceAll(name, "/", "")) {
		return name
	}
	return quoted(name)
}
