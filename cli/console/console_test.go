package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/visible"
)

func TestPrintableHidesNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain ünïcode ✓":       "plain ünïcode ✓",
		"\x1b[2Jclean":          "⟨ESC⟩[2Jclean",
		"a\rb":                  "a⟨CR⟩b",
		"a\nb":                  "a⟨LF⟩b",
		`a\nb`:                  `a\nb`,
		"a⟨LF⟩b":                "a⟨U+27E8⟩LF⟩b",
		"safe\u202egnp.exe":     "safe⟨U+202E⟩gnp.exe",
		"zero\u200bwidth":       "zero⟨U+200B⟩width",
		"tag\U000e0041":         "tag⟨U+E0041⟩",
		"bad\xff":               "bad⟨U+FFFD⟩",
		"non\u00a0breaking":     "non⟨U+00A0⟩breaking",
		"\x00":                  "⟨NUL⟩",
		"line\u2028separators":  "line⟨U+2028⟩separators",
		"c1\u009b2J":            "c1⟨U+009B⟩2J",
		"filler\u3164":          "filler⟨U+3164⟩",
		"braille\u2800":         "braille⟨U+2800⟩",
		"selector\ufe0f":        "selector⟨U+FE0F⟩",
		"sh https://\u0430.com": "sh https://⟨а U+0430⟩.com",
	} {
		require.Equal(t, want, Printable(text, false), "%q", text)
	}
	require.Equal(t, "a\nb", Printable("a\nb", true))
	require.Equal(t, "abcd…", Cut("abcdefgh", 5))
}

// Two different texts never look the same, even if one imitates the other.
func TestPrintableTellsTextsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "\n", `\n`, "⟨LF⟩", "⟨", "⟩", "U+202E", "\u202e", "\x1b", "ESC", `\`, "\u009b", "\u3164", "\u0430", "\u0430 ", "\u0431"})
		text := rapid.Map(rapid.SliceOfN(piece, 0, 5), func(all []string) string { return strings.Join(all, "") })
		one, other := text.Draw(t, "one"), text.Draw(t, "other")
		require.Equal(t, one == other, Printable(one, false) == Printable(other, false))
		require.False(t, strings.ContainsFunc(Printable(one, false), visible.Hides))
	})
}

func TestPrintJSONEscapesWhatHides(t *testing.T) {
	t.Parallel()
	given := map[string]string{"a": "x\u202ey\u009b\u200b\U000e0041ü\n"}
	var out bytes.Buffer
	require.NoError(t, PrintJSON(&out, given))
	require.Equal(t, "{\n  \"a\": \"x\\u202ey\\u009b\\u200b\\udb40\\udc41ü\\n\"\n}\n", out.String())
	var back map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, given, back)
}

func TestTableFits(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rows := [][]string{
		{"approval-0123456789", "会話の名前がとても長い", strings.Repeat("x", 60), "3s ago"},
		{"b", "é́ combining", "", "a\nb"},
	}
	c := &Console{Stdout: &out, Columns: 60}
	require.NoError(t, c.Table([]string{"REQUEST", "SESSION", "INPUT", "RAISED"}, rows))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		require.LessOrEqual(t, widthOf(line), 60, line)
	}
	require.Contains(t, lines[1], "approval-0123456789  会話の", "what is copied is whole")
	require.Contains(t, lines[2], "a⟨LF⟩b")
	require.NotContains(t, out.String(), "\x1b")

	out.Reset()
	c.Columns, c.Color = 0, true
	require.NoError(t, c.Table([]string{"REQUEST", "SESSION", "INPUT", "RAISED"}, rows))
	require.Contains(t, out.String(), strings.Repeat("x", 60), "nothing is cut for a script")
	require.Contains(t, out.String(), "\x1b[1mREQUEST")
}

// A long line is broken so that no part of it looks like a line of its own, and nothing is lost.
func TestWhatContinuesALineIsMarked(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"reason: xx", "  xxhints:", "   none", ""}, Wrap("reason: xxxxhints: none\n", 10))
	require.Equal(t, []string{"   │ # fill", "   ┆ rm -rf", "   ┆  /"}, Wrap("   │ # fillrm -rf /", 11))
	require.Equal(t, []string{"           abc", "  def"}, Wrap("           abcdef", 14))
	require.Equal(t, []string{"会話", "の"}, Wrap("会話の", 5))
	require.Equal(t, []string{"a", "b"}, Wrap("ab", 0))
}

func TestChoose(t *testing.T) {
	t.Parallel()
	single := &api.UserQuestion{Options: []api.QuestionOption{
		{ID: "2", Label: "Two, or more"}, {ID: "b", Label: "Bee"}, {ID: "c", Label: "2"},
	}}
	multi := &api.UserQuestion{MultiSelect: true, Options: single.Options}
	counted := &api.UserQuestion{Options: []api.QuestionOption{{ID: "0", Label: "Yes"}, {ID: "1", Label: "No"}, {ID: "3", Label: "3"}, {ID: "x", Label: "4"}}}
	manyCounted := &api.UserQuestion{MultiSelect: true, Options: counted.Options}
	twins := &api.UserQuestion{Options: []api.QuestionOption{{ID: "old", Label: "Server"}, {ID: "new", Label: "Server"}, {ID: "x", Label: "server"}, {ID: "y", Label: "3"}, {ID: "z", Label: "3"}}}
	for _, test := range []struct {
		question *api.UserQuestion
		line     string
		want     []string
		problem  bool
	}{
		{single, "", nil, false},
		{single, "1", []string{"2"}, false},
		{single, "2", nil, true}, // the number of one option, and the id of another
		{single, "2)", []string{"b"}, false},
		{single, "3", []string{"c"}, false},
		{single, "BEE", []string{"b"}, false},
		{single, "two, or more", []string{"2"}, false},
		{single, "b, c", nil, true},
		{single, "b, b", []string{"b"}, false},
		{single, "4", nil, true},
		{single, "0", nil, true},
		{multi, "b, 3", []string{"b", "c"}, false},
		{multi, "b, nothing", nil, true},
		{multi, "2, 3", nil, true},
		{multi, "2), 3", []string{"b", "c"}, false},
		{counted, "0", []string{"0"}, false}, // not a number that is shown
		{counted, "1", nil, true},
		{counted, "1)", []string{"0"}, false},
		{counted, "2", []string{"1"}, false},
		{counted, "yes", []string{"0"}, false},
		{counted, "3", []string{"3"}, false}, // both are the same option
		{counted, "4", []string{"x"}, false},
		{counted, "5)", nil, true},
		{manyCounted, "2, 1", nil, true},
		{manyCounted, "No, 1)", []string{"1", "0"}, false},
		{twins, "Server", nil, true},
		{twins, "SERVER", nil, true},
		{twins, "server", []string{"x"}, false},
		{twins, "new", []string{"new"}, false},
		{twins, "2", []string{"new"}, false},
		{twins, "3", nil, true},
	} {
		got, problem := choose(test.question, test.line)
		require.Equal(t, test.problem, problem != "", "%s: %s", test.line, problem)
		require.Equal(t, test.want, got, test.line)
	}
}

func TestAnIDThatSaysNothingIsShortened(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"0b54e4c2-7d6e-4f6b-9a51-1f2f3c4d5e6f": "…3c4d5e6f", "session_06gzyzn8ass2s49za16v8fgyq4": "…6v8fgyq4",
		"release-2026-11-28-of-the-web-shop": "release-2026-11-28-of-the-web-shop", "abcdefghijklmnopqrstuvwxyz": "abcdefghijklmnopqrstuvwxyz", "nightly": "nightly",
	} {
		require.Equal(t, want, NameOfID(id))
	}
}

func TestANameOfTwoOptionsIsRefused(t *testing.T) {
	t.Parallel()
	question := &api.UserQuestion{Options: []api.QuestionOption{{ID: "old", Label: "Server"}, {ID: "new", Label: "Server"}}}
	require.Equal(t, `"server" names 2 options: choose by id, old or new`, NoOption(question, "server"))
	require.Equal(t, `"client" is none of the options`, NoOption(question, "client"))
	question.Options[1].ID = "1"
	_, problem := choose(question, "1")
	require.Equal(t, "1 is the number of one option and the name of another: type 1) for the number, or choose by another name", problem)
}

func TestExplainTellsWhatWasDecided(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	text := Explain(&client.Error{
		Status: 409, Code: "approval_state_conflict", Detail: "run r is not waiting for approval",
		Recorded: &api.RecordedDecision{RequestID: "a", Outcome: "allowed", ResolvedBy: "bob\x1b", ResolvedAtMs: 700_000, Via: "api:inbox"},
	}, now)
	require.Contains(t, text, `a was allowed by bob⟨ESC⟩, 5m ago, in the inbox`)
	require.Equal(t, "plain", Explain(errors.New("plain"), now))
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(10_000_000_000)
	for passed, want := range map[time.Duration]string{
		0: "0s ago", 59 * time.Second: "59s ago", time.Minute: "1m ago", 47 * time.Hour: "47h ago",
		72 * time.Hour: "3d ago", -90 * time.Second: "in 1m",
	} {
		require.Equal(t, want, Ago(now.Add(-passed).UnixMilli(), now))
	}
	require.Empty(t, Ago(0, now))
	require.Equal(t, "in 2932781d", Ago(api.MaxTimeMs, now))
	require.Equal(t, "2932896d", Span(api.MaxTimeMs))
}
