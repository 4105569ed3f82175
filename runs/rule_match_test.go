package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// standing returns an existing rule for the session "s".
func standing(id string, match api.RuleMatch, change ...func(*rules.Rule)) rules.Rule {
	rule := rules.Rule{
		RuleID: id, SessionID: "s", ToolName: "bash", Effect: api.RuleAllow, Match: match,
		Text: "text of " + id, CreatedAtMs: 1,
	}
	for _, one := range change {
		one(&rule)
	}
	return rule
}

func denies(rule *rules.Rule) { rule.Effect = api.RuleDeny }
func asks(rule *rules.Rule)   { rule.Effect = api.RuleAsk }

// keys, param and exactly return matches.
func keys(keys ...string) api.RuleMatch { return api.RuleMatch{PatternKeys: keys} }

func param(name, glob string) api.RuleMatch {
	return api.RuleMatch{Params: map[string]string{name: glob}}
}

func exactly(input string) api.RuleMatch { return api.RuleMatch{InputDigest: digestOf(input)} }

// call returns a call of the tool bash in the session "s".
func call(input string, keys ...string) rules.Call {
	return rules.Call{
		SessionID: "s", AgentID: "default", ToolName: "bash", ToolCallID: "call-a", Input: api.JSON(input), PatternKeys: keys,
	}
}

// A single rule, and why it does not apply.
func TestWhetherARuleApplies(t *testing.T) {
	t.Parallel()
	ls := call(`{"command":"ls"}`)
	everything := api.RuleMatch{AnyInput: true}
	for _, test := range []struct {
		name   string
		rule   rules.Rule
		call   rules.Call
		whyNot string
	}{
		{"any input", standing("r", everything), ls, ""},
		{"another tool", standing("r", everything, func(r *rules.Rule) { r.ToolName = "Bash" }), ls, "it is about another tool"},
		{"all sessions", standing("r", everything, func(r *rules.Rule) { r.SessionID = rules.AllSessions }), ls, ""},
		{"another session", standing("r", everything, func(r *rules.Rule) { r.SessionID = "t" }), ls, "it holds in another session"},
		{"the agent", standing("r", everything, func(r *rules.Rule) { r.AgentID = "default" }), ls, ""},
		{"another agent", standing("r", everything, func(r *rules.Rule) { r.AgentID = "other" }), ls, "it is about another agent"},
		{"revoked", standing("r", everything, func(r *rules.Rule) { r.RevokedAtMs = 1 }), ls, "it was revoked"},
		{"its last moment", standing("r", everything, func(r *rules.Rule) { r.ExpiresAtMs = 11 }), ls, ""},
		{"expired", standing("r", everything, func(r *rules.Rule) { r.ExpiresAtMs = 10 }), ls, "it has expired"},
		{"its last use", standing("r", everything, func(r *rules.Rule) { r.MaxUses, r.Uses = 2, 1 }), ls, ""},
		{"used up", standing("r", everything, func(r *rules.Rule) { r.MaxUses, r.Uses = 2, 2 }), ls, "it is used up"},

		{"the exact input", standing("r", exactly(`{"b":1,"a":[1.0,"é"]}`)), call(` {"a":[1,"\u00e9"], "b":1}`), ""},
		{"another input", standing("r", exactly(`{"command":"ls"}`)), call(`{"command":"ls "}`), "the input differs"},
		{"an input with more", standing("r", exactly(`{"command":"ls"}`)), call(`{"command":"ls","cwd":"/"}`), "the input differs"},
		{"an input that is not known", standing("r", exactly(`null`)), call(``), "the input differs"},
		{"null", standing("r", exactly(`null`)), call(`null`), ""},

		{"the call", standing("r", api.RuleMatch{ToolCallID: "call-a"}), ls, ""},
		{"another call", standing("r", api.RuleMatch{ToolCallID: "call-b"}), ls, "it is about another call"},

		{"a param", standing("r", param("command", "l*")), ls, ""},
		{"a param that does not match", standing("r", param("command", "rm *")), ls, `the param "command" does not match "rm *"`},
		{"a param that is not there", standing("r", param("cwd", "**")), ls, `the input has no param "cwd"`},
		{"a number", standing("r", param("n", "1?")), call(`{"n":12}`), ""},
		{"a number in another form", standing("r", param("amount", "5000")), call(`{"amount":5000.0}`), ""},
		{"a number with an exponent", standing("r", param("amount", "5000")), call(`{"amount":5e3}`), ""},
		{"a glob for a number in another form", standing("r", param("amount", "5e3")), call(`{"amount":5000}`), ""},
		{"a glob for the form of a number", standing("r", param("amount", "5*")), call(`{"amount":5e3}`), ""},
		{"another number", standing("r", param("amount", "5000")), call(`{"amount":5000.5}`), `the param "amount" does not match "5000"`},
		{"a text is not a number", standing("r", param("amount", "5000")), call(`{"amount":"5e3"}`), `the param "amount" does not match "5000"`},
		{"numbers in a list", standing("r", param("n", "[1,2000]")), call(`{"n":[1.0,2e3]}`), ""},
		{"members in order", standing("r", param("n", `{"a":1,"b":2}`)), call(`{"n":{"b":2.0,"a":1}}`), ""},
		{"an object is compact", standing("r", param("n", `{"a":[1,"b c"]}`)), call(`{"n": { "a" : [1, "b c"] } }`), ""},
		{"true, null and a text of that", standing("r", api.RuleMatch{Params: map[string]string{"a": "true", "b": "null", "c": "null"}}), call(`{"a":true,"b":null,"c":"null"}`), ""},
		{"a text as it is", standing("r", param("command", "a\"\né")), call(`{"command":"a\"\n\u00e9"}`), ""},
		{"one of two params", standing("r", api.RuleMatch{Params: map[string]string{"a": "1", "b": "1"}}), call(`{"a":1,"b":2}`), `the param "b" does not match "1"`},
		{"an input that is not an object", standing("r", param("command", "**")), call(`"command"`), `the input has no param "command"`},
		{"an input that is a list", standing("r", param("0", "**")), call(`["x"]`), `the input has no param "0"`},
		{"no member of a member", standing("r", param("b", "**")), call(`{"a":{"b":1}}`), `the input has no param "b"`},

		{"the key", standing("r", keys("k")), call(`1`, "k"), ""},
		{"more keys than asked for", standing("r", keys("j", "k")), call(`1`, "k"), ""},
		{"a key twice", standing("r", keys("k")), call(`1`, "k", "k"), ""},
		{"one key of two", standing("r", keys("k")), call(`1`, "k", "rm"), `nothing allows the call's pattern key "rm"`},
		{"another key", standing("r", keys("k")), call(`1`, "rm"), "the call has none of its pattern keys"},
		{"a key is not a glob", standing("r", keys("**")), call(`1`, "k"), "the call has none of its pattern keys"},
		{"no keys", standing("r", keys("k")), call(`1`), "the call has none of its pattern keys"},
		{"a deny by one key of two", standing("r", keys("k", "j"), denies), call(`1`, "k", "rm"), ""},
		{"an ask by one key of two", standing("r", keys("k", "j"), asks), call(`1`, "k", "rm"), ""},
		{"a deny without its keys", standing("r", keys("k"), denies), call(`1`, "rm"), "the call has none of its pattern keys"},

		{"keys and input", standing("r", api.RuleMatch{PatternKeys: []string{"k"}, InputDigest: digestOf(`1`)}), call(`1`, "k"), ""},
		{"keys and another input", standing("r", api.RuleMatch{PatternKeys: []string{"k"}, InputDigest: digestOf(`2`)}), call(`1`, "k"), "the input differs"},
		{"input and other keys", standing("r", api.RuleMatch{PatternKeys: []string{"k"}, InputDigest: digestOf(`1`)}), call(`1`, "j"), "the call has none of its pattern keys"},
		{"all at once", standing("r", api.RuleMatch{
			PatternKeys: []string{"k"}, InputDigest: digestOf(`{"a":1}`), Params: map[string]string{"a": "1"}, ToolCallID: "call-a",
		}), call(`{"a":1}`, "k"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			decision := test.rule.Effect
			if test.whyNot != "" {
				decision = api.RuleAsk
			}
			require.Equal(t, api.Explanation{Decision: decision, Rules: []api.ExplainedRule{{
				RuleID: "r", Text: "text of r", Effect: test.rule.Effect, Applies: test.whyNot == "", WhyNot: test.whyNot,
			}}}, rules.Explain([]rules.Rule{test.rule}, test.call, 10))
		})
	}
}

// Several rules: deny before ask before allow, and keys that several rules cover together.
func TestRulesTogether(t *testing.T) {
	t.Parallel()
	everything := api.RuleMatch{AnyInput: true}
	other := func(r *rules.Rule) { r.ToolName = "other" }
	for _, test := range []struct {
		name     string
		rules    []rules.Rule
		call     rules.Call
		decision api.RuleEffect
		whyNot   []string
	}{
		{"no rules", nil, call(`1`), api.RuleAsk, []string{}},
		{"deny first", []rules.Rule{standing("a", everything), standing("b", everything, asks), standing("c", everything, denies)}, call(`1`), api.RuleDeny, []string{"", "", ""}},
		{"ask before allow", []rules.Rule{standing("a", everything), standing("b", everything, asks)}, call(`1`), api.RuleAsk, []string{"", ""}},
		{"a deny that does not apply", []rules.Rule{standing("a", everything), standing("b", everything, denies, other)}, call(`1`), api.RuleAllow, []string{"", "it is about another tool"}},
		{"keys together", []rules.Rule{standing("a", keys("k")), standing("b", keys("j", "x"))}, call(`1`, "j", "k"), api.RuleAllow, []string{"", ""}},
		{"keys together but for one", []rules.Rule{standing("a", keys("k")), standing("b", keys("j"))}, call(`1`, "j", "k", "x"), api.RuleAsk, []string{
			`nothing allows the call's pattern key "x"`, `nothing allows the call's pattern key "x"`,
		}},
		{"keys of another tool cover nothing", []rules.Rule{standing("a", keys("k")), standing("b", keys("j"), other)}, call(`1`, "j", "k"), api.RuleAsk, []string{
			`nothing allows the call's pattern key "j"`, "it is about another tool",
		}},
		{"keys of a deny cover nothing", []rules.Rule{standing("a", keys("k")), standing("b", keys("j"), asks)}, call(`1`, "j", "k"), api.RuleAsk, []string{
			`nothing allows the call's pattern key "j"`, "",
		}},
		{"the exact input needs no keys", []rules.Rule{standing("a", exactly(`1`)), standing("b", keys("j"))}, call(`1`, "j", "k"), api.RuleAllow, []string{
			"", `nothing allows the call's pattern key "k"`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			explained := rules.Explain(test.rules, test.call, 10)
			require.Equal(t, test.decision, explained.Decision)
			whyNot := []string{}
			for i, rule := range explained.Rules {
				require.Equal(t, test.rules[i].RuleID, rule.RuleID)
				require.Equal(t, rule.WhyNot == "", rule.Applies)
				whyNot = append(whyNot, rule.WhyNot)
			}
			require.Equal(t, test.whyNot, whyNot)
		})
	}
}
