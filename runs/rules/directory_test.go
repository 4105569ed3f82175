package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Each rule with a directory decodes the directory of the call: at once, not with an allocation for each encoded byte.
func TestAnEncodedDirectoryIsDecodedAtOnce(t *testing.T) {
	rule := rules.Rule{RuleID: "r", SessionID: rules.AllSessions, ToolName: "bash", Effect: api.RuleDeny, Match: api.RuleMatch{Directory: "/srv"}}
	call := rules.Call{ToolName: "bash", Input: api.JSON("{}"), Directory: "/" + strings.Repeat("%41", 340)}
	allocations := testing.AllocsPerRun(1, func() {
		require.Equal(t, api.RuleAsk, rules.Judge([]*rules.Rule{&rule}, &call, 1).Effect)
	})
	require.Less(t, allocations, 100.0)
}

func TestWhereARuleHolds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		of, in          string
		allows, refuses bool
	}{
		{"/srv/app", "/srv/app", true, true},
		{"/srv/app", "/srv/app/", false, true},
		{"/srv/app", "/srv/app/src", false, true},
		{"/srv/app", "/srv/App", false, true},
		{"/srv/app", "//srv/./app", false, true},
		{"/srv/app", "/srv/x/../app", false, true},
		{"/srv/app", "/proc/self/root/srv/app", false, true},
		{"/srv/app", "", false, true},
		{"/srv/app", "app", false, true},
		{"/srv/app", "/other/..", false, true},
		{"/srv/app", "/srv/application", false, false},
		{"/srv/app", "/srv", false, false},
		{"/srv/app", "/", false, false},
		{"/", "/srv", false, true},
		{"/", "/", true, true},
		{`C:\src`, `c:/SRC/x`, false, true},
		{`C:\src`, `D:\src`, false, false},
		{"app", "app", true, true},
		{"app", "/srv/app", false, true},
	} {
		call := rules.Call{ToolName: "bash", Input: api.JSON(`{}`), Directory: test.in}
		rule := rules.Rule{SessionID: rules.AllSessions, Effect: api.RuleAllow, ToolName: "bash", Match: api.RuleMatch{AnyInput: true, Directory: test.of}}
		require.Equal(t, test.allows, rule.Matches(&call), "allow in %q, call in %q", test.of, test.in)
		for _, effect := range []api.RuleEffect{api.RuleDeny, api.RuleAsk} {
			rule.Effect = effect
			require.Equal(t, test.refuses, rule.Matches(&call), "%s in %q, call in %q", effect, test.of, test.in)
		}
	}
}

func TestTheDirectoryInTheTextOfARule(t *testing.T) {
	t.Parallel()
	rule := rules.Rule{SessionID: "s", Effect: api.RuleAllow, ToolName: "bash", Match: api.RuleMatch{AnyInput: true, Directory: "/a\", in every session\u202e"}}
	require.Equal(t, `Allow every call of the tool bash, whatever its input, in the directory "/a\", in every session\u202e", in session s, until the session ends.`, rule.Describe(nil))
	rule.Effect, rule.Match.Directory = api.RuleDeny, "/srv"
	require.Equal(t, `Deny every call of the tool bash, whatever its input, in the directory "/srv" or below it, or in an unknown one, in session s, until the session ends.`, rule.Describe(nil))

	rule.Effect = api.RuleAllow
	examples := rule.Examples(nil)
	require.Equal(t, "/srv", examples.Matching[0].Directory)
	require.Equal(t, api.RuleExample{ToolName: "bash", Input: examples.Matching[0].Input, Directory: "/another/directory", WhyNot: `it is about the directory "/srv"`}, examples.NotMatching[0])
}

func TestADirectoryAloneMatchesNothing(t *testing.T) {
	t.Parallel()
	var faults refusal.Faults
	rules.CheckMatch(&api.RuleMatch{Directory: "/srv"}, "/match", "bash", true, &faults)
	require.Equal(t, []api.Fault{{Pointer: "/match", Detail: "must say which calls it matches"}}, faults.List)
	faults = refusal.Faults{}
	rules.CheckMatch(&api.RuleMatch{AnyInput: true, Directory: "/srv\x00"}, "/match", "bash", true, &faults)
	require.Len(t, faults.List, 1)
	require.Equal(t, "/match/directory", faults.List[0].Pointer)
}
