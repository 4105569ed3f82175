package runs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// RuleCall is a tool call as rules see it.
type RuleCall struct {
	SessionID   string // empty for none: then only rules of all sessions apply
	AgentID     string
	ToolName    string
	ToolCallID  string
	PatternKeys []string
	Input       JSON // nil when it is not known: then nothing about the input holds
	// InputDigest is the Digest of the input.
	InputDigest string

	// members are those of the input, once something asked for them.
	members map[string]JSON
}

// verdict is what rules together say about a call.
type verdict struct {
	effect RuleEffect
	// rule decided it: the oldest that denies, or that asks; or the one with which, from
	// the oldest on, the call was allowed. It is nil when no rule applies, and then
	// somebody is asked.
	rule *Rule
	// needed are the rules without which it would not be so, rule among them.
	needed []*Rule
	// whyNot says of each rule, in their order, why it does not apply; empty for one that does.
	whyNot []string
}

// judge decides a call by rules, which are in the order of compareRules: deny goes
// before ask, and ask before allow (decisions.md 16 and 17).
func judge(rules []*Rule, call *RuleCall, nowMs int64) verdict {
	made := verdict{effect: RuleAsk, whyNot: make([]string, len(rules))}
	for i, rule := range rules {
		made.whyNot[i] = rule.whyNot(call, nowMs)
	}
	allowing, needed := made.allow(rules, call)
	for _, effect := range []RuleEffect{RuleDeny, RuleAsk} {
		for i, rule := range rules {
			if rule.Effect == effect && made.whyNot[i] == "" {
				made.effect, made.rule, made.needed = effect, rule, []*Rule{rule}
				return made
			}
		}
	}
	if allowing != nil {
		made.effect, made.rule, made.needed = RuleAllow, allowing, needed
	}
	return made
}

// allow finds the rules that allow the call together: one that says so without keys,
// or several that cover all its keys. It completes whyNot for those that cover some of
// the keys only.
func (v *verdict) allow(rules []*Rule, call *RuleCall) (allowing *Rule, needed []*Rule) {
	missing := slices.Clone(call.PatternKeys)
	var covering []*Rule
	for i, rule := range rules {
		if rule.Effect != RuleAllow || v.whyNot[i] != "" {
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
				v.whyNot[i] = "nothing allows the call's pattern key " + quoted(missing[0])
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

// whyOver says why a rule does not hold any more; it is empty for one that does.
func (r *Rule) whyOver(nowMs int64) string {
	switch {
	case r.RevokedAtMs != 0:
		return "it was revoked"
	case r.ExpiresAtMs != 0 && r.ExpiresAtMs <= nowMs:
		return "it has expired"
	case r.MaxUses != 0 && r.Uses >= r.MaxUses:
		return "it is used up"
	}
	return ""
}

// whyNot says in plain words why a rule by itself does not apply to a call; it is
// empty for one that does. Of an allow with pattern keys it tells only whether it
// covers any of the call's.
func (r *Rule) whyNot(call *RuleCall, nowMs int64) string {
	if over := r.whyOver(nowMs); over != "" {
		return over
	}
	switch match := &r.Match; {
	case r.SessionID != GlobalRules && r.SessionID != call.SessionID:
		return "it holds in another session"
	case r.AgentID != "" && r.AgentID != call.AgentID:
		return "it is about another agent"
	case r.ToolName != "" && r.ToolName != call.ToolName:
		return "it is about another tool"
	case match.ToolCallID != "" && match.ToolCallID != call.ToolCallID:
		return "it is about another call"
	case match.InputDigest != "" && match.InputDigest != call.InputDigest:
		return "the input differs"
	case len(match.PatternKeys) > 0 && !slices.ContainsFunc(call.PatternKeys, func(key string) bool { return slices.Contains(match.PatternKeys, key) }):
		return "the call has none of its pattern keys"
	}
	return r.whyNotParams(call)
}

func (r *Rule) whyNotParams(call *RuleCall) string {
	for _, name := range paramNames(&r.Match) {
		value, there := call.param(name)
		if !there {
			return "the input has no param " + quoted(name)
		}
		if !matchGlob(r.Match.Params[name], value) {
			return "the param " + quoted(name) + " does not match " + quoted(r.Match.Params[name])
		}
	}
	return ""
}

// paramNames returns the names of the params in one order.
func paramNames(m *RuleMatch) []string {
	names := make([]string, 0, len(m.Params))
	for name := range m.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// param returns what a glob is held against: a member of the input that is a text as
// it is, any other in its compact JSON form.
func (c *RuleCall) param(name string) (string, bool) {
	if c.members == nil {
		c.members = map[string]JSON{}
		if KindOf(c.Input) == '{' && json.Unmarshal(c.Input, &c.members) != nil {
			c.members = map[string]JSON{}
		}
	}
	value, there := c.members[name]
	if !there {
		return "", false
	}
	if KindOf(value) == '"' {
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	}
	compact, err := CompactJSON(value)
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
	if ValidID(strings.ReplaceAll(name, "/", "")) {
		return name
	}
	return quoted(name)
}
