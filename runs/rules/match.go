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

// RuleCall is a tool call as rules see it.
type Call struct {
	SessionID   string // empty for none: then only rules of all sessions apply
	AgentID     string
	ToolName    string
	ToolCallID  string
	PatternKeys []string
	Input       api.JSON // nil when it is not known: then nothing about the input holds
	// InputDigest is the Digest of the input.
	InputDigest string

	// members are those of the input, once something asked for them.
	members map[string]api.JSON
}

// verdict is what rules together say about a call.
type Verdict struct {
	Effect api.RuleEffect
	// rule decided it: the oldest that denies, or that asks; or the one with which, from
	// the oldest on, the call was allowed. It is nil when no rule applies, and then
	// somebody is asked.
	Rule *Rule
	// needed are the rules without which it would not be so, rule among them.
	Needed []*Rule
	// whyNot says of each rule, in their order, why it does not apply; empty for one that does.
	WhyNot []string
}

// judge decides a call by rules, which are in the order of compareRules: deny goes
// before ask, and ask before allow (decisions.md 16 and 17).
func Judge(rules []*Rule, call *Call, nowMs int64) Verdict {
	made := Verdict{Effect: api.RuleAsk, WhyNot: make([]string, len(rules))}
	for i, rule := range rules {
		made.WhyNot[i] = rule.whyNot(call, nowMs)
	}
	allowing, needed := made.allow(rules, call)
	for _, effect := range []api.RuleEffect{api.RuleDeny, api.RuleAsk} {
		for i, rule := range rules {
			if rule.Effect == effect && made.WhyNot[i] == "" {
				made.Effect, made.Rule, made.Needed = effect, rule, []*Rule{rule}
				return made
			}
		}
	}
	if allowing != nil {
		made.Effect, made.Rule, made.Needed = api.RuleAllow, allowing, needed
	}
	return made
}

// allow finds the rules that allow the call together: one that says so without keys,
// or several that cover all its keys. It completes whyNot for those that cover some of
// the keys only.
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

// neededOf leaves out the rules whose keys are covered without them, the oldest
// first.
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

// paramNames returns the names of the params in one order.
func paramNames(m *api.RuleMatch) []string {
	names := make([]string, 0, len(m.Params))
	for name := range m.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// param returns what a glob is held against: a member of the input that is a text as
// it is, any other in its compact JSON form.
func (c *Call) param(name string) (string, bool) {
	if c.members == nil {
		c.members = map[string]api.JSON{}
		if document.Kind(c.Input) == '{' && json.Unmarshal(c.Input, &c.members) != nil {
			c.members = map[string]api.JSON{}
		}
	}
	value, there := c.members[name]
	if !there {
		return "", false
	}
	if document.Kind(value) == '"' {
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	}
	compact, err := document.Compact(value)
	return string(compact), err == nil
}

// quoted shows a text of somebody's choice inside of a sentence, so that it cannot be
// taken for a part of it: in quotes, with what cannot be seen written as an escape,
// and cut when it is long.
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

// plain shows a name as it is when nobody can take it for anything else.
func plain(name string) string {
	if refusal.ValidID(strings.ReplaceAll(name, "/", "")) {
		return name
	}
	return quoted(name)
}
