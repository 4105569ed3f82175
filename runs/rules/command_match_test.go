package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// A rule for a command matches its own call, with any description and time limit, and no call
// that does anything else.
func TestARuleForACommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tool, input string
		applies     []string
		not         []string
	}{
		{
			"bash", `{"command":"make all","description":"First","timeout":5}`,
			[]string{`{"command":"make all"}`, `{"command":"make all","description":"Second"}`},
			[]string{
				`{"command":"make  all"}`, `{"command":"make all && id"}`, `{"command":"make all","cwd":"/"}`, `{"command":["make","all"]}`,
				`{"command":"make all","env":{"CC":"x"}}`, `{"command":"make all","unknown":1}`, `{"Command":"make all"}`, `{}`,
			},
		},
		{
			"exec", `{"command":"make","argv":["make"],"cwd":"/srv","env":{"A":"b"},"retries":2}`,
			[]string{`{"command":"make","argv":["make"],"cwd":"/srv","env":{"A":"b"},"retries":2,"reason":"x"}`},
			[]string{
				`{"command":"make","argv":["make"],"cwd":"/","env":{"A":"b"},"retries":2}`, `{"command":"make","argv":["id"],"cwd":"/srv","env":{"A":"b"},"retries":2}`,
				`{"command":"make","argv":["make"],"cwd":"/srv","env":{"A":"c"},"retries":2}`, `{"command":"make","argv":["make"],"cwd":"/srv","env":{"A":"b"},"retries":3}`,
				`{"command":"make","argv":["make"],"cwd":"/srv","retries":2}`,
			},
		},
		{"WebSearch", `{"query":"weather"}`, nil, nil},
		{"bash", `{"command":"ls *.go"}`, nil, nil},
		{"bash", `{"command":""}`, nil, nil},
		{"bash", `{"command":"` + strings.Repeat("x", api.MaxGlobLength+1) + `"}`, nil, nil},
		{"bash", `{"command":"ls","a":{"b":"?"}}`, nil, nil},
		{"bash", `"ls"`, nil, nil},
		{"bash", `null`, nil, nil},
	} {
		match, found := rules.CommandMatch(test.tool, api.JSON(test.input))
		require.Equal(t, test.applies != nil, found, test.input)
		if !found {
			continue
		}
		rule := rules.Rule{RuleID: "r", SessionID: rules.AllSessions, ToolName: test.tool, Effect: api.RuleAllow, Match: match}
		decision := func(input string) api.RuleEffect {
			return rules.Explain([]rules.Rule{rule}, rules.Call{ToolName: test.tool, Input: api.JSON(input)}, 0).Decision
		}
		for _, input := range append(test.applies, test.input) {
			require.Equal(t, api.RuleAllow, decision(input), input)
		}
		for _, input := range test.not {
			require.Equal(t, api.RuleAsk, decision(input), input)
		}
	}
}

// A deny covers the words of its glob without further ones, as an allow with the same glob does. So it
// wins over that allow, whatever its text says.
func TestADenyCoversACommandWithoutFurtherWords(t *testing.T) {
	t.Parallel()
	rule := func(id string, effect api.RuleEffect, text string) rules.Rule {
		return rules.Rule{
			RuleID: id, SessionID: rules.AllSessions, ToolName: "bash", Effect: effect, Text: text,
			Match: api.RuleMatch{Params: map[string]string{"command": "git push **"}},
		}
	}
	both := []rules.Rule{rule("allow", api.RuleAllow, ""), rule("deny", api.RuleDeny, "of an earlier version")}
	for command, decision := range map[string]api.RuleEffect{
		"git push": api.RuleDeny, "git push origin": api.RuleDeny, "cd /srv && sudo GIT 'push'": api.RuleDeny, "git pull": api.RuleAsk, "git pushx": api.RuleAsk,
	} {
		call := rules.Call{ToolName: "bash", Input: document.Encode(map[string]string{"command": command})}
		require.Equal(t, decision, rules.Explain(both, call, 0).Decision, command)
	}
}
