package rules_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// drawSetRule draws a rule that [rules.CheckMatch] accepts.
func drawSetRule(t *rapid.T, n int) *rules.Rule {
	rule := &rules.Rule{
		RuleID: fmt.Sprintf("rule-%02d", n), SessionID: rapid.SampledFrom([]string{rules.AllSessions, "s"}).Draw(t, "session"),
		Effect:      rapid.SampledFrom([]api.RuleEffect{api.RuleAllow, api.RuleAllow, api.RuleAllow, api.RuleAsk, api.RuleDeny}).Draw(t, "effect"),
		AgentID:     rapid.SampledFrom([]string{"", "", "coder", "other"}).Draw(t, "agent"),
		CreatedAtMs: rapid.Int64Range(0, 3).Draw(t, "created"),
		ExpiresAtMs: rapid.SampledFrom([]int64{0, 0, 5, 20}).Draw(t, "expires"),
	}
	match := &rule.Match
	if rapid.Bool().Draw(t, "by keys") {
		match.PatternKeys = rapid.SliceOfN(rapid.SampledFrom([]string{"k1", "k2", "k3"}), 1, 3).Draw(t, "keys")
	}
	if rapid.IntRange(0, 4).Draw(t, "by call") == 0 {
		match.ToolCallID = rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "call")
	}
	if match.PatternKeys == nil && match.ToolCallID == "" || rapid.Bool().Draw(t, "of a tool") {
		rule.ToolName = rapid.SampledFrom([]string{"bash", "bash", "other"}).Draw(t, "tool")
	}
	if rule.ToolName != "" && rapid.Bool().Draw(t, "by params") {
		glob := rapid.StringMatching(`(git |push|\*|\*\*|\?|/a/|main){0,5}`)
		match.Params = map[string]string{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"command", "cwd"}), 1, 2, rapid.ID).Draw(t, "params") {
			match.Params[name] = glob.Draw(t, "glob")
		}
	}
	if rule.ToolName != "" && rapid.IntRange(0, 4).Draw(t, "by digest") == 0 {
		match.InputDigest = rapid.SampledFrom([]string{"sha256:1", "sha256:2"}).Draw(t, "digest")
	}
	if match.PatternKeys == nil && match.ToolCallID == "" && match.Params == nil && match.InputDigest == "" {
		match.AnyInput = true
	}
	match.Directory = rapid.SampledFrom([]string{"", "", "/a", "/A/b"}).Draw(t, "rule's directory")
	return rule
}

// drawSetCall draws a call and rules.
func drawSetCall(t *rapid.T) (call rules.Call, list []*rules.Rule) {
	for n := range rapid.IntRange(0, 30).Draw(t, "rules") {
		list = append(list, drawSetRule(t, n))
	}
	text := rapid.StringMatching(`(git |push|x|/a/|main){0,5}`)
	call = rules.Call{
		SessionID: "s", AgentID: "coder", ToolName: rapid.SampledFrom([]string{"bash", "bash", "other"}).Draw(t, "tool"),
		ToolCallID: rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "call"), InputDigest: rapid.SampledFrom([]string{"sha256:1", "sha256:2"}).Draw(t, "digest"),
		PatternKeys: rapid.SliceOfN(rapid.SampledFrom([]string{"k1", "k2", "k3"}), 0, 3).Draw(t, "keys"),
		Input:       document.Encode(map[string]string{"command": text.Draw(t, "command"), "cwd": text.Draw(t, "cwd")}),
		Directory:   rapid.SampledFrom([]string{"", "/a", "/a/b", "/c"}).Draw(t, "directory"),
	}
	return call, list
}

// A set decides like trying every rule.
func TestASetDecidesAsAllItsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var call rules.Call
		var all, exact, ofAll, ofSession []*rules.Rule
		if rapid.Bool().Draw(t, "spelled") {
			call, all = drawSpelledCall(t)
		} else {
			call, all = drawSetCall(t)
		}
		for _, rule := range all {
			switch {
			case rule.Exact():
				exact = append(exact, rule)
			case rule.SessionID == rules.AllSessions:
				ofAll = append(ofAll, rule)
			default:
				ofSession = append(ofSession, rule)
			}
		}
		const nowMs = 10
		slices.SortFunc(all, rules.Compare)
		want := rules.Judge(all, &call, nowMs)

		indexed := call
		indexed.Budget = rules.NewBudget(1)
		matches := rules.MatchSets(&indexed, rules.NewSet(ofAll, true), rules.NewSet(ofSession, true))
		got := matches.With(exact, &call).Judge(func(rule *rules.Rule) *rules.Rule {
			if rule.AgentID != "" && rule.AgentID != call.AgentID || rule.WhyOver(nowMs) != "" {
				return nil
			}
			return rule
		})
		require.Equal(t, want.Effect, got.Effect)
		require.Equal(t, want.Rule, got.Rule)
		require.Equal(t, want.Needed, got.Needed)
	})
}

// A set after many changes decides like one built from the final rules.
func TestAChangedSetDecidesAsAWholeOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		standing := map[string]*rules.Rule{}
		for n := range rapid.IntRange(0, 20).Draw(t, "rules") {
			rule := drawSetRule(t, n)
			standing[rule.RuleID] = rule
		}
		complete := rapid.IntRange(0, 4).Draw(t, "complete") > 0
		whole := func() []*rules.Rule { return slices.SortedFunc(maps.Values(standing), rules.Compare) }
		changed := rules.NewSet(whole(), complete)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			var ids []string
			var fresh []*rules.Rule
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				rule := drawSetRule(t, rapid.IntRange(0, 25).Draw(t, "which"))
				if slices.Contains(ids, rule.RuleID) {
					ids = append(ids, rule.RuleID) // twice, as it was left
					continue
				}
				ids = append(ids, rule.RuleID)
				if delete(standing, rule.RuleID); rapid.Bool().Draw(t, "stands") {
					standing[rule.RuleID] = rule
					fresh = append(fresh, rule)
				}
			}
			changed = changed.With(ids, fresh)
			require.Equal(t, complete, changed.Within(100, 1<<20))
			require.False(t, changed.Within(len(standing)-1, 1<<20))
		}
		call := rules.Call{
			SessionID: "s", AgentID: "coder", ToolName: rapid.SampledFrom([]string{"bash", "bash", "other"}).Draw(t, "tool"),
			ToolCallID: rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "call"), InputDigest: rapid.SampledFrom([]string{"sha256:1", "sha256:2"}).Draw(t, "digest"),
			PatternKeys: rapid.SliceOfN(rapid.SampledFrom([]string{"k1", "k2", "k3"}), 0, 3).Draw(t, "keys"),
			Input:       document.Encode(map[string]string{"command": rapid.StringMatching(`(git |push|x|/a/|main){0,5}`).Draw(t, "command")}),
		}
		judge := func(set *rules.Set) rules.Verdict {
			own := call
			own.Budget = rules.NewBudget(1)
			return rules.MatchSets(&own, set).Judge(func(rule *rules.Rule) *rules.Rule { return rule })
		}
		require.Equal(t, judge(rules.NewSet(whole(), complete)), judge(changed))
	})
}

// manyRules returns the maximum number of rules in force, of one kind.
func manyRules(rule func(n int) *rules.Rule) []*rules.Rule {
	list := slices.Repeat([]*rules.Rule{nil}, api.MaxRulesOfAllSessions)
	for n := range list {
		list[n] = rule(n)
		list[n].RuleID, list[n].SessionID = fmt.Sprintf("rule-%05d", n), rules.AllSessions
		if list[n].Effect == "" {
			list[n].Effect = api.RuleAllow
		}
	}
	return list
}

// Out of very many rules, only candidates for the call are tried, whatever their conditions are.
func TestFewOfManyRulesAreTried(t *testing.T) {
	t.Parallel()
	glob := func(format string) func(n int) *rules.Rule {
		return func(n int) *rules.Rule {
			return globRule(api.RuleAllow, "", fmt.Sprintf(format, n))
		}
	}
	keyed := func(n int) *rules.Rule {
		return &rules.Rule{Match: api.RuleMatch{PatternKeys: []string{fmt.Sprint("key ", n), fmt.Sprint("other ", n)}}}
	}
	for _, test := range []struct {
		name  string
		rules []*rules.Rule
		call  rules.Call
		most  int
		found string // the rule that allows the call
	}{
		{"globs that begin as the text", manyRules(glob("git push * %05d")), *commandCall("git push origin 07777"), 40, "rule-07777"},
		{"globs that end as the text", manyRules(glob("%05d*test")), *commandCall("01234 a test"), 40, "rule-01234"},
		{"globs around what is looked for", manyRules(glob("**secret%05d**")), *commandCall("echo a-secret04242 ls"), 40, "rule-04242"},
		{"globs in a long text", manyRules(glob("**secret%05d**")), *commandCall(strings.Repeat("secret", 10_000) + "secret04242"), 40, "rule-04242"},
		{"globs without the text", manyRules(glob("git push * %05d")), *commandCall("rm -rf build"), 0, ""},
		{"pattern keys", manyRules(keyed), rules.Call{ToolName: "bash", PatternKeys: []string{"key 7", "other 8"}, Input: api.JSON(`1`)}, 2, "rule-00008"},
		{"calls", manyRules(func(n int) *rules.Rule {
			return &rules.Rule{Match: api.RuleMatch{ToolCallID: fmt.Sprint("call-", n)}}
		}), rules.Call{ToolName: "bash", ToolCallID: "call-7", Input: api.JSON(`1`)}, 1, "rule-00007"},
		{"tools", manyRules(func(n int) *rules.Rule {
			return &rules.Rule{ToolName: fmt.Sprint("tool-", n), Match: api.RuleMatch{AnyInput: true}}
		}), rules.Call{ToolName: "tool-7", Input: api.JSON(`1`)}, 1, "rule-00007"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := rules.NewSet(test.rules, true)
			call := test.call
			call.Budget = rules.NewBudget(1)
			matches := rules.MatchSets(&call, set)
			require.LessOrEqual(t, call.Budget.Tried(), test.most)

			verdict := matches.Judge(func(rule *rules.Rule) *rules.Rule { return rule })
			found := ""
			if verdict.Rule != nil {
				found = verdict.Rule.RuleID
			}
			require.Equal(t, test.found, found)
		})
	}
}

// Rules that are all candidates cost bounded work, and a person is asked if it is not enough.
func TestTooMuchToSearchIsAsked(t *testing.T) {
	t.Parallel()
	keys := make([]string, api.MaxPatternKeys)
	for n := range keys {
		keys[n] = fmt.Sprint("key ", n)
	}
	list := manyRules(func(n int) *rules.Rule {
		return &rules.Rule{Match: api.RuleMatch{PatternKeys: keys}}
	})
	list[len(list)-1].Effect = api.RuleDeny
	set, budget := rules.NewSet(list, true), rules.NewBudget(1)
	itself := func(rule *rules.Rule) *rules.Rule { return rule }
	var last api.RuleEffect
	for range api.MaxRequestsPerSuspension {
		call := rules.Call{ToolName: "bash", PatternKeys: keys, Input: api.JSON(`1`), Budget: budget}
		last = rules.MatchSets(&call, set).Judge(itself).Effect
		require.NotEqual(t, api.RuleAllow, last)
	}
	require.Equal(t, api.RuleAsk, last)
	require.Less(t, budget.Tried(), api.MaxRequestsPerSuspension*len(list))
}

// An incomplete set allows nothing.
func TestWhatIsNotAllThereAllowsNothing(t *testing.T) {
	t.Parallel()
	itself := func(rule *rules.Rule) *rules.Rule { return rule }
	for complete, want := range map[bool]api.RuleEffect{true: api.RuleAllow, false: api.RuleAsk} {
		call := commandCall("ls")
		call.Budget = rules.NewBudget(1)
		matches := rules.MatchSets(call, rules.NewSet([]*rules.Rule{globRule(api.RuleAllow, "l", "ls")}, complete))
		require.Equal(t, want, matches.Judge(itself).Effect)
	}
}

// BenchmarkMatchSets matches one call against the maximum number of rules in force.
func BenchmarkMatchSets(b *testing.B) {
	for name, format := range map[string]string{"git push * %05d": "git push * %05d", "**secret%05d**": "**secret%05d**"} {
		b.Run(name, func(b *testing.B) {
			set := rules.NewSet(manyRules(func(n int) *rules.Rule { return globRule(api.RuleAllow, "", fmt.Sprintf(format, n)) }), true)
			call := commandCall("git push origin main # secret 01234")
			for b.Loop() {
				one := *call
				one.Budget = rules.NewBudget(1)
				rules.MatchSets(&one, set)
			}
		})
	}
}
