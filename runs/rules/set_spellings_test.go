package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Characters that Unicode normalization joins with the one before them, splits, or removes: an accent, a cedilla, Hangul jamo, a zero-width
// joiner, a ligature, a full-width star, the Kelvin sign, and one that becomes 18.
var joining = []string{"\u0301", "\u0327", "\u1161", "\u11a8", "\u200d", "\ufb01", "\uff0a", "\u212a", "\ufdfa", "\ufdd0"}

// drawSpelledGlob draws a glob whose literals end next to wildcards and to characters that are not ASCII.
func drawSpelledGlob(t *rapid.T) string {
	pieces := append([]string{
		"*", "**", "?", "**/", "***/", " **", "/", "abe?", "main*", "etc?", "abe", "main", "MAIN", "\uff41\uff42\uff45", "e\u0301", "\u1100?", "\u1100",
		"/etc/", "../", "./", "git push ", "python3 ", "rm -rf ", "--force ", "--forc ", `"ab"cde`, "-m pip ", " | bash", "k?",
	}, joining...)
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "pieces"), "")
}

// drawSpelledText draws a text that a glob matches as written, and then writes some of its characters otherwise.
func drawSpelledText(t *rapid.T, glob string) string {
	fillings := append([]string{"", "x", "e", "K", "/a/", "\u0301x"}, joining...)
	var text strings.Builder
	for at, r := range glob {
		switch {
		case r == '*' && at > 0 && glob[at-1] == '*':
		case r == '*':
			text.WriteString(rapid.SampledFrom(fillings).Draw(t, "any"))
		case r == '?':
			text.WriteString(rapid.SampledFrom(append([]string{"x"}, joining...)).Draw(t, "one"))
		default:
			switch spelling := rapid.IntRange(0, 40).Draw(t, "spelling"); {
			case spelling == 1:
				text.WriteString(strings.ToUpper(string(r)))
			case spelling == 2 && r > ' ' && r < 0x7f:
				text.WriteRune(r + '\uff01' - '!')
			case spelling == 3:
				text.WriteString(string(r) + rapid.SampledFrom(joining).Draw(t, "behind"))
			case spelling == 4 && r == '/':
				text.WriteString(`\.\`)
			default:
				text.WriteRune(r)
			}
		}
	}
	return text.String()
}

// drawSpelledCall draws a call, and enough rules about it for the index.
func drawSpelledCall(t *rapid.T) (call rules.Call, list []*rules.Rule) {
	of := rapid.SampledFrom([]struct{ tool, param string }{{"bash", "command"}, {"write", "path"}, {"note", "value"}, {"db", "sql"}}).Draw(t, "of")
	session := rapid.SampledFrom([]string{rules.AllSessions, "s"}).Draw(t, "session")
	var globs []string
	for n := range rapid.IntRange(12, 18).Draw(t, "rules") {
		rule := &rules.Rule{
			RuleID: fmt.Sprintf("spelled-%02d", n), SessionID: session, ToolName: of.tool,
			Effect: rapid.SampledFrom([]api.RuleEffect{api.RuleDeny, api.RuleDeny, api.RuleDeny, api.RuleDeny, api.RuleAsk, api.RuleAllow}).Draw(t, "effect"),
			Match:  api.RuleMatch{Params: map[string]string{of.param: drawSpelledGlob(t)}},
		}
		var faults refusal.Faults
		rules.CheckMatch(&rule.Match, "", of.tool, false, &faults)
		require.NoError(t, faults.Err())
		globs, list = append(globs, rule.Match.Params[of.param]), append(list, rule)
	}
	text := drawSpelledText(t, rapid.SampledFrom(globs).Draw(t, "about"))
	var value any = text
	if rapid.IntRange(0, 4).Draw(t, "in a list") == 0 {
		value = strings.SplitAfter(text, " ")
	}
	return rules.Call{SessionID: "s", ToolName: of.tool, Input: document.Encode(map[string]any{of.param: value})}, list
}

// A rule decides in a set, where it is found by its letters, as it does alone: in every spelling that it covers.
func TestADenyIsFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\ufdfa", api.MaxGlobText/(2*len("\ufdfa")))
	for _, test := range []struct {
		tool, param, glob string
		value             any
		denied            api.RuleEffect
	}{
		{"write", "path", "/abe?", "/abe\u0301", api.RuleDeny},
		{"write", "path", "/abe*", "/abe\u0301x", api.RuleDeny},
		{"write", "path", "/srv/abe*/x", "/srv/abe\u0301/x", api.RuleDeny},
		{"write", "path", "/srv/main**", "/srv/main\u0301/x", api.RuleDeny},
		{"write", "path", "/srv/main?", "/srv/MAIN\u0301", api.RuleDeny},
		{"write", "path", "/srv/**", "/other\ufdd0", api.RuleAsk},
		{"write", "path", "/srv/secret*", long, api.RuleDeny}, // normalized, it is too long to be matched
		{"bash", "command", `rm "ab"cde`, []string{"rm", `"ab"cde`}, api.RuleDeny},
		{"bash", "command", "rm \uff02ab\uff02cdef", "rm \uff02ab\uff02cdef", api.RuleDeny},
		{"bash", "command", "git push --mirr **", "bash -c 'git push --mirr x; ('", api.RuleDeny},
	} {
		require.Equal(t, test.denied, decided(t, api.RuleDeny, test.tool, map[string]string{test.param: test.glob}, map[string]any{test.param: test.value}), "%q and %q", test.glob, test.value)
	}
	// A deny covers what an allow with the same glob covers, and a character of the text stands for no others.
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "write", map[string]string{"path": "/abe*"}, map[string]any{"path": "/abe\u0301x"}))
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "write", map[string]string{"path": "***/abe*"}, map[string]any{"path": "abel"}))
	require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "write", map[string]string{"path": "/srv/app/*.txt"}, map[string]any{"path": "\ufdd0"}))
}
