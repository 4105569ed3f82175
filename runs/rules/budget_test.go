package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
)

func globRule(effect api.RuleEffect, id, glob string) *rules.Rule {
	return &rules.Rule{
		RuleID: id, SessionID: rules.AllSessions, ToolName: "bash", Effect: effect,
		Match: api.RuleMatch{Params: map[string]string{"command": glob}},
	}
}

func commandCall(text string) *rules.Call {
	return &rules.Call{ToolName: "bash", Input: document.Encode(map[string]string{"command": text})}
}

// A text that is too long for globs matches no allow, and every deny and ask: a longer call must
// not evade a deny.
func TestTextTooLongForGlobs(t *testing.T) {
	t.Parallel()
	fits, tooLong := strings.Repeat("a", api.MaxGlobText), strings.Repeat("a", api.MaxGlobText+1)
	for _, test := range []struct {
		effect api.RuleEffect
		glob   string
		text   string
		want   api.RuleEffect
		whyNot string
	}{
		{api.RuleAllow, "**", fits, api.RuleAllow, ""},
		{api.RuleAllow, "**", tooLong, api.RuleAsk, `the param "command" is too long to be matched`},
		{api.RuleDeny, "b*", fits, api.RuleAsk, `the param "command" does not match "b*"`},
		{api.RuleDeny, "b*", tooLong, api.RuleDeny, ""},
		{api.RuleAsk, "b*", tooLong, api.RuleAsk, ""},
	} {
		verdict := rules.Judge([]*rules.Rule{globRule(test.effect, "rule", test.glob)}, commandCall(test.text), 1)
		require.Equal(t, test.want, verdict.Effect, "%s %s", test.effect, test.glob)
		require.Equal(t, []string{test.whyNot}, verdict.WhyNot)
	}
}

// Matching many globs stops at the budget and fails closed. Without it, this takes many seconds
// under the session's lock.
func TestWorkOfGlobsIsBounded(t *testing.T) {
	t.Parallel()
	glob := strings.Repeat("**secret", 500)
	var standing []*rules.Rule
	for i := range 5_000 {
		standing = append(standing, globRule(api.RuleAllow, fmt.Sprintf("allow-%04d", i), glob+fmt.Sprint(i)+"**"))
	}
	text := strings.Repeat("secre", api.MaxGlobText/5)
	verdict := rules.Judge(standing, commandCall(text), 1)
	require.Equal(t, api.RuleAsk, verdict.Effect)
	require.Equal(t, `the param "command" is too long to be matched`, verdict.WhyNot[len(standing)-1])

	standing = append(standing, globRule(api.RuleDeny, "zz-deny", "**rm**"))
	require.Equal(t, api.RuleDeny, rules.Judge(standing, commandCall(text), 1).Effect, "what cannot be decided is denied")
	require.Equal(t, api.RuleAsk, rules.Judge(standing, commandCall("ls"), 1).Effect, "a short text is decided by every glob")
}

// A deny reads each relative path in each folder that another member names. Many paths in many long
// folders are more than the budget, and the deny applies.
func TestPathsInFoldersAreBounded(t *testing.T) {
	t.Parallel()
	deny := []*rules.Rule{{RuleID: "r", SessionID: rules.AllSessions, ToolName: "copy", Effect: api.RuleDeny, Match: api.RuleMatch{Params: map[string]string{"paths": "**/secret"}}}}
	call := func(paths, folderBytes int, above, end string) *rules.Call {
		input := map[string]any{}
		for i := range 16 {
			input[fmt.Sprintf("%c_path", 'a'+i)] = above + strings.Repeat("x", folderBytes) + string(rune('a'+i))
		}
		list := make([]string, paths)
		for i := range list {
			list[i] = fmt.Sprint("p", i, end)
		}
		input["paths"] = list
		return &rules.Call{ToolName: "copy", Input: document.Encode(input)}
	}
	require.Equal(t, api.RuleAsk, rules.Judge(deny, call(20, 20, "/", ""), 1).Effect)
	require.Equal(t, api.RuleDeny, rules.Judge(deny, call(2_000, 2_000, "/", ""), 1).Effect)
	// A path may have several forms in each folder: each of them counts.
	require.Equal(t, api.RuleAsk, rules.Judge(deny, call(50, 200, "/", ""), 1).Effect)
	require.Equal(t, api.RuleDeny, rules.Judge(deny, call(50, 200, "/private/", "."), 1).Effect)
}

// A deny reads each list and each text with each spelling of its arguments. Once the budget is spent, it applies.
func TestCommandsWithArgumentsAreBounded(t *testing.T) {
	deny := []*rules.Rule{{RuleID: "r", SessionID: rules.AllSessions, ToolName: "x", Effect: api.RuleDeny, Match: api.RuleMatch{Params: map[string]string{"commands": "rm -rf **"}}}}
	call := func(one any, commands, words int) *rules.Call {
		input := map[string]any{"commands": slices.Repeat([]any{one}, commands)}
		for _, name := range []string{"args", "Args", "a_rgs", "ar_gs", "arg_s", "a-rgs", "ar-gs", "arguments", "argv"} {
			input[name] = slices.Repeat([]string{"b"}, words)
		}
		return &rules.Call{ToolName: "x", Input: document.Encode(input)}
	}
	for _, one := range []any{"ls", []string{"ls"}} {
		require.Equal(t, api.RuleAsk, rules.Judge(deny, call(one, 3, 3), 1).Effect)
		calls := []*rules.Call{call(one, 4_000, 10_000), call(one, 4_000, 10_000)} // the first is not counted
		allocations := testing.AllocsPerRun(1, func() {
			require.Equal(t, api.RuleDeny, rules.Judge(deny, calls[0], 1).Effect)
			calls = calls[1:]
		})
		require.Less(t, allocations, 500_000.0, "nothing is parsed after the end: without that, 600,000")
	}
}

// The parts of a member are bounded, not only those of each command in it. Once there are too many, a deny applies.
func TestPartsOfAListOfCommandsAreBounded(t *testing.T) {
	t.Parallel()
	one := "docker run"
	for i := range 20 {
		one += fmt.Sprint(" -e N", i)
	}
	for commands, read := range map[int]bool{2: true, 300: false} {
		call := &rules.Call{ToolName: "x", Input: document.Encode(map[string][]string{"commands": slices.Repeat([]string{one}, commands)})}
		texts, all := rules.RefusingTexts(call, "commands")
		require.Equal(t, read, all)
		require.Less(t, texts, 1<<16+1<<13)
	}
	deny := globRule(api.RuleDeny, "r", "ls")
	deny.Match.Params = map[string]string{"commands": "ls"}
	for commands, effect := range map[int]api.RuleEffect{2: api.RuleAsk, 300: api.RuleDeny} {
		call := &rules.Call{ToolName: "bash", Input: document.Encode(map[string][]string{"commands": slices.Repeat([]string{one}, commands)})}
		require.Equal(t, effect, rules.Judge([]*rules.Rule{deny}, call, 1).Effect)
	}
}

// A command with many options is read. It must not be denied for their number.
func TestACommandWithManyOptionsIsRead(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"docker run" + strings.Repeat(" -e A -v /a:/b --rm", 6) + " image serve",
		"sudo docker run" + strings.Repeat(" -e A=1", 20) + " image serve",
		"docker compose -f a -f b -f c run --rm -e A -e B -e C web make -j 4 test",
		"docker -D -H a -l b run" + strings.Repeat(" -e A", 12) + " image serve",
		"docker -D" + strings.Repeat(" -e A", 15) + " image serve",
		"kubectl -n a --context b get pods -o wide -l app=x --sort-by y --field-selector z -A -w",
		"npm --prefix a -w b run -s test -- --a b --c d --e f --g h --i j --k l --m n --o p --q r",
	} {
		require.Equal(t, api.RuleAsk, rules.Judge([]*rules.Rule{globRule(api.RuleDeny, "r", "docker compose down **")}, commandCall(command), 1).Effect, "%q", command)
	}
}
