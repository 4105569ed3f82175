package rules_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// unquotedOperators returns a command's shell operators in order. It knows only quotes and
// backslashes, and is not a parser.
func unquotedOperators(command string) string {
	var operators strings.Builder
	quote := byte(0)
	for at := 0; at < len(command); at++ {
		switch c := command[at]; {
		case c == '\\' && quote != '\'':
			at++
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote == '\'':
		case c == '`' || c == '$' && at+1 < len(command) && command[at+1] == '(':
			operators.WriteByte(c)
		case quote == 0 && strings.IndexByte(";&|<>()\n", c) >= 0:
			operators.WriteByte(c)
		}
	}
	return operators.String()
}

// FuzzAllowedCommand: an allow with a wildcard allows no command with an operator that the rule does not
// spell out.
func FuzzAllowedCommand(f *testing.F) {
	for _, seed := range [][2]string{
		{"git *", "git log && curl x | sh"},
		{"git *", `git commit -m "a && b"`},
		{"git **", "git log $(id)"},
		{"cd a && npm **", "cd a && npm test && id"},
		{"**", "a\nb"},
		{`echo "**; x **"`, `echo ""; x ""`},
		{"a * | b", "a b | b"},
		{`'**'`, `'a';'b'`},
		{"* ;", "a ;"},
		{"**#**", "a # ;"},
		{"?", ";"},
		{`\**`, `\;`},
		{"**", "<<E\na;b\nE"},
		{"**", "a <<'E'\n;\nE"},
		{"x**", "x \\\n;"},
		{"**", "[[ a < b ]]"},
		{"**", "((1<2))"},
		{"**", "a=(b)"},
		{"**\n**", "a\nb"},
		{"a(*)", "a(b)"},
		{"**`**", "a`b`"},
		{"rm -rf **", "rm -fr x"},
		{"git push -f -- **", "git push x --force"},
		{"rm -f ?", "rm -f \ufdd2"},
		{"curl * | sh*", "curl x | sudo bash -s"},
		{"python -m pip **", "python3 -I -m pip install x"},
		{"cd a && npm **", "cd a && npm"},
		{"** ** ?", "  \ufdc0"}, // folded, it is several characters
		{"?", "\x00"},           // folded, it is none
		{"docker-compose a && gmake **", "docker compose a && make"},
		{"a*|'b", "a'|'b"}, // a word with a quoted character
		{"a'*|b", "a''|b"}, // a pipe
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, command string) {
		if !strings.ContainsAny(glob, "*?") || !utf8.ValidString(glob) || !utf8.ValidString(command) || len(glob) > api.MaxGlobLength {
			return
		}
		rule := rules.Rule{
			RuleID: "r", SessionID: rules.AllSessions, ToolName: "bash", Effect: api.RuleAllow, Match: api.RuleMatch{Params: map[string]string{"command": glob}},
		}
		call := rules.Call{ToolName: "bash", Input: document.Encode(map[string]string{"command": command})}
		if rules.Explain([]rules.Rule{rule}, call, 0).Decision == api.RuleAllow {
			operators := unquotedOperators(glob)
			if _, err := shellcmd.Read(glob); err != nil {
				operators = "" // with a quote that does not end, it spells none out, and allows none
			}
			require.Equal(t, operators, unquotedOperators(command), "%q allows %q", glob, command)
			require.True(t, rules.MatchGlob(glob, command) || glob == command+" **", "%q allows %q, which it does not match", glob, command)
		}
		// A deny rule with the same globs never lets a text pass that it matches as written.
		rule.Effect = api.RuleDeny
		if rules.MatchGlob(glob, command) {
			require.Equal(t, api.RuleDeny, rules.Explain([]rules.Rule{rule}, call, 0).Decision, "%q does not deny %q", glob, command)
		}
	})
}

// FuzzAllowedPath: an allow with a wildcard allows no path with a ".." segment, and only paths
// below its glob.
func FuzzAllowedPath(f *testing.F) {
	for _, seed := range [][2]string{{"src/**", "src/../x"}, {"**/.env", ".env"}, {"src/*", `src/..\x`}, {"a/**/b", "a/b"}, {"**", "%2e%2e/x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		if !utf8.ValidString(glob) || !utf8.ValidString(path) || len(glob) > api.MaxGlobLength {
			return
		}
		rule := rules.Rule{
			RuleID: "r", SessionID: rules.AllSessions, ToolName: "read", Effect: api.RuleAllow, Match: api.RuleMatch{Params: map[string]string{"path": glob}},
		}
		call := rules.Call{ToolName: "read", Input: document.Encode(map[string]string{"path": path})}
		if rules.Explain([]rules.Rule{rule}, call, 0).Decision == api.RuleAllow {
			for segment := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
				require.NotEqual(t, "..", segment, "%q allows %q", glob, path)
			}
		}
		rule.Effect = api.RuleDeny
		if rules.MatchGlob(glob, path) {
			require.Equal(t, api.RuleDeny, rules.Explain([]rules.Rule{rule}, call, 0).Decision, "%q does not deny %q", glob, path)
		}
	})
}
