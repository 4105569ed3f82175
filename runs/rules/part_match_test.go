package rules_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// partCase is an input, what the rule made from it is about ("" for no rule), and calls that the rule
// applies to or not.
type partCase struct {
	tool, input, about string
	applies, not       []string
}

func (test partCase) check(t *testing.T, matchOf func(string, api.JSON) (api.RuleMatch, string, bool)) {
	t.Helper()
	match, about, found := matchOf(test.tool, api.JSON(test.input))
	require.Equal(t, test.about != "", found, test.input)
	if !found {
		return
	}
	require.Equal(t, test.about, about)
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

// A rule for commands that start with the same words covers their further words, and no other command.
func TestARuleForCommandsThatStartWithTheSameWords(t *testing.T) {
	t.Parallel()
	for _, test := range []partCase{
		{
			"bash", `{"command":"npm test -- cart","description":"First"}`, "npm test",
			[]string{`{"command":"npm test"}`, `{"command":"npm test a/b.js","description":"Second"}`, `{"command":"npm test --watch","timeout":5}`},
			[]string{
				`{"command":"npm"}`, `{"command":"npm test\n"}`, `{"command":["npm test"]}`, `{"command":"npm test&&id"}`, `{"command":"npm test","cwd":"/"}`, `{"command":"npm testing x"}`, `{"command":"npm publish --force"}`, `{"command":"npm test x && rm -rf /"}`,
				`{"command":"npm test $(id)"}`, `{"command":"npm test x; id"}`, `{"command":"npm test x > /etc/passwd"}`, `{"command":"npm test x","cwd":"/"}`,
				`{"command":"npm test x\nid"}`, "{\"command\":\"npm test `id`\"}", `{"command":"npm test x","env":{"PATH":"/tmp"}}`, `{"command":"npm test <(id)"}`,
			},
		},
		{"bash", `{"command":"npm run build --watch"}`, "npm run build", []string{`{"command":"npm run build x"}`}, []string{`{"command":"npm run deploy x"}`}},
		{"bash", `{"command":"git push origin main","cwd":"/srv"}`, "git push", []string{`{"command":"git push origin x","cwd":"/srv"}`}, []string{`{"command":"git push origin main"}`}},
		{"bash", `{"command":"npm test"}`, "npm test", []string{`{"command":"npm test x"}`}, []string{`{"command":"npm testing"}`, `{"command":"npm"}`, `{"command":"npm test;id"}`}},
		{"bash", `{"command":"npm run build"}`, "npm run build", []string{`{"command":"npm run build --watch"}`}, []string{`{"command":"npm run"}`, `{"command":"npm run builds"}`}},
		{"bash", `{"command":"npm run"}`, "", nil, nil},
		{"bash", `{"command":"npm"}`, "", nil, nil},
		{"bash", `{"command":"npm test x | tail"}`, "", nil, nil},
		{"bash", `{"command":"rm -rf build"}`, "", nil, nil},
		{"bash", `{"command":"sudo apt install x"}`, "", nil, nil},
		{"bash", `{"command":"/bin/sh script now"}`, "", nil, nil},
		{"bash", `{"command":"python manage migrate"}`, "", nil, nil},
		{"bash", `{"command":"python3.12 manage migrate"}`, "", nil, nil},
		{"bash", `{"command":"Rscript report all"}`, "", nil, nil},
		{"bash", `{"command":"genv npm test"}`, "", nil, nil},
		{"bash", `{"command":"nodejs build all"}`, "", nil, nil},
		{"bash", `{"command":"docker-compose exec web sh"}`, "", nil, nil},
		{"bash", `{"command":"docker run alpine sh"}`, "", nil, nil},
		{"bash", `{"command":"aws-vault exec prod -- aws s3 ls"}`, "", nil, nil},
		{"bash", `{"command":"aws-vault exec prod aws s3 ls"}`, "", nil, nil},
		{"bash", `{"command":"tool exec place -- ls"}`, "", nil, nil},
		{"bash", `{"command":"adb shell ls"}`, "", nil, nil},
		{"bash", `{"command":"fly ssh console"}`, "", nil, nil},
		{"bash", `{"command":"nix develop -c ls"}`, "", nil, nil},
		{"bash", `{"command":"pnpm dlx cowsay hi"}`, "", nil, nil},
		{"bash", `{"command":"ansible all -a uptime"}`, "", nil, nil},
		{"bash", `{"command":"bundle exec rspec a"}`, "bundle exec rspec", []string{`{"command":"bundle exec rspec b"}`}, []string{`{"command":"bundle exec rake"}`}},
		{"bash", `{"command":"npm run build -- --watch"}`, "npm run build", []string{`{"command":"npm run build"}`}, []string{`{"command":"npm run test"}`}},
		{"bash", `{"command":"npm test *"}`, "", nil, nil},
		{"bash", `{"command":["npm","test","x"]}`, "", nil, nil},
		{"WebSearch", `{"query":"npm test x"}`, "", nil, nil},
	} {
		test.check(t, rules.PrefixMatch)
	}
}

// A rule covers its command without further words only if its text says so, in a set as well, where it is found by the
// bytes that a command must have.
func TestARuleForFurtherWordsCoversNoneIfItsTextSaysSo(t *testing.T) {
	t.Parallel()
	rule := rules.Rule{RuleID: "r", SessionID: rules.AllSessions, ToolName: "bash", Effect: api.RuleAllow, Match: api.RuleMatch{Params: map[string]string{"command": "npm test **"}}}
	text := rule.Describe(nil)
	require.Contains(t, text, `" **" at the end may be missing`)
	for name, test := range map[string]struct {
		text    string
		decided api.RuleEffect
	}{
		"now":   {text, api.RuleAllow},
		"older": {`Allow the tool bash when command matches "npm test **" (** is any text with or without slashes, no wildcard covers shell operators), in every session.`, api.RuleAsk},
	} {
		one := rule
		one.Text = test.text
		call := rules.Call{ToolName: "bash", Input: api.JSON(`{"command":"npm test"}`)}
		require.Equal(t, test.decided, rules.Explain([]rules.Rule{one}, call, 0).Decision, name)
		standing := []*rules.Rule{&one}
		for i := range 20 { // enough of them for the index
			other := rule
			other.RuleID, other.Match = "o"+strconv.Itoa(i), api.RuleMatch{Params: map[string]string{"command": "npm test-" + strconv.Itoa(i) + " **"}}
			standing = append(standing, &other)
		}
		call.Budget = rules.NewBudget(1)
		verdict := rules.MatchSets(&call, rules.NewSet(standing, true)).Judge(func(rule *rules.Rule) *rules.Rule { return rule })
		require.Equal(t, test.decided, verdict.Effect, name)
	}
	rule.Effect = api.RuleDeny
	require.Contains(t, rule.Describe(nil), "may be missing", "TestADenyCoversACommandWithoutFurtherWords")
}

// A rule for the files in a folder covers that folder and those below it, and no way out of them.
func TestARuleForTheFilesInAFolder(t *testing.T) {
	t.Parallel()
	for _, test := range []partCase{
		{
			"Edit", `{"file_path":"internal/cart/total.go","old_string":"a","new_string":"b"}`, "internal/cart/",
			[]string{`{"file_path":"internal/cart/deep/x.go","old_string":"c","new_string":"d","replace_all":true}`},
			[]string{
				`{"file_path":"internal/cart","old_string":"a"}`, `{"file_path":"internal/cart2/x.go"}`, `{"file_path":"internal/cart/../../etc/passwd"}`,
				`{"file_path":"/internal/cart/x.go"}`, `{"file_path":"internal/cart/x.go","cwd":"/"}`, `{"file_path":"internal/cart/x.go","path":"/etc/passwd"}`, `{"old_string":"a"}`,
			},
		},
		{"write", `{"path":"/home/ada/src/a.txt","content":"x","cwd":"/home/ada"}`, "/home/ada/src/", []string{`{"path":"/home/ada/src/b/c","content":"y","cwd":"/home/ada"}`}, []string{`{"path":"/home/ada/src/b","content":"y"}`}},
		{"write", `{"path":"/etc/passwd","content":"x"}`, "", nil, nil},
		{"write", `{"path":"/x","content":"x"}`, "", nil, nil},
		{"write", `{"path":"x","content":"x"}`, "", nil, nil},
		{"write", `{"path":"a/../b/x","content":"x"}`, "", nil, nil},
		{"write", `{"path":"a/*","content":"x"}`, "", nil, nil},
		{"write", `{"path":["a/b"],"content":"x"}`, "", nil, nil},
		{"copy", `{"path":"a/b","file":"c/d"}`, "", nil, nil},
		{"file", `{"path":"src/a","operation":"read"}`, "src/", []string{`{"path":"src/b","operation":"read"}`}, []string{`{"path":"src/b","operation":"delete"}`, `{"path":"src/b"}`}},
		{"write", `{"path":"etc/a","cwd":"/"}`, "", nil, nil},
		{"write", `{"path":"cart/a","cwd":"/srv"}`, "cart/", nil, []string{`{"path":"cart/a","cwd":"/"}`}},
		{"write", `{"path":" /etc/passwd"}`, "", nil, nil},
		{"write", `{"path":"file:/etc/passwd"}`, "", nil, nil},
		{"write", `{"path":"$HOME/a"}`, "", nil, nil},
		{"write", `{"path":"%USERPROFILE%/a"}`, "", nil, nil},
		{"write", "{\"path\":\"`x`/a\"}", "", nil, nil},
		{"bash", `{"path":"a/b","command":"rm -rf a"}`, "", nil, nil},
		{"fetch", `{"path":"https://example.com/a/b"}`, "", nil, nil},
	} {
		test.check(t, rules.FolderMatch)
	}
}
