package console

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A quoted line must give the shell back the very arguments: it is what the person
// who decides reads.
func TestQuoteLineIsReadBackByTheShell(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{"ls", "-l"},
		{"", " ", "a b", "it's", `"`, `\`, "$HOME", "`id`", "*", "~", "#x", "a\nb", "ü", "-n", "!", "a=b", "{x,y}"},
		{"'", "''", `'\''`, ";", "&&", "|", ">x", "<(ls)"},
	} {
		out, err := exec.Command("/bin/sh", "-c", `set -- `+QuoteLine(argv)+`; for a in "$@"; do printf '%s\0' "$a"; done`).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(argv, "\x00")+"\x00", string(out))
	}
	require.Equal(t, "rm -rf ./build", QuoteLine([]string{"rm", "-rf", "./build"}), "nothing is quoted without need")
}

func TestPrintableHidesNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain ünïcode ✓":      "plain ünïcode ✓",
		"\x1b[2Jclean":         `\x1b[2Jclean`,
		"a\rb":                 `a\x0db`,
		"a\nb":                 `a\nb`,
		"safe\u202egnp.exe":    `safe\u202egnp.exe`,
		"zero\u200bwidth":      `zero\u200bwidth`,
		"tag\U000e0041":        `tag\U000e0041`,
		"bad\xff":              `bad\ufffd`,
		"non\u00a0breaking":    `non\u00a0breaking`,
		"\x00":                 `\x00`,
		"line\u2028separators": `line\u2028separators`,
	} {
		require.Equal(t, want, Printable(text, false), "%q", text)
	}
	require.Equal(t, "a\nb", Printable("a\nb", true))
	require.Equal(t, "abcd…", Cell("abcdefgh", 5))
}

func TestChoose(t *testing.T) {
	t.Parallel()
	single := &api.UserQuestion{Options: []api.QuestionOption{
		{ID: "2", Label: "Two, or more"}, {ID: "b", Label: "Bee"}, {ID: "c", Label: "2"},
	}}
	multi := &api.UserQuestion{MultiSelect: true, Options: single.Options}
	for _, test := range []struct {
		question *api.UserQuestion
		line     string
		want     []string
		problem  bool
	}{
		{single, "", nil, false},
		{single, "1", []string{"2"}, false},
		{single, "2", []string{"2"}, false}, // an id goes before a place
		{single, "3", []string{"c"}, false},
		{single, "BEE", []string{"b"}, false},
		{single, "two, or more", []string{"2"}, false},
		{single, "b, c", nil, true},
		{single, "b, b", []string{"b"}, false},
		{single, "4", nil, true},
		{single, "0", nil, true},
		{multi, "b, 3", []string{"b", "c"}, false},
		{multi, "b, nothing", nil, true},
	} {
		got, problem := choose(test.question, test.line)
		require.Equal(t, test.problem, problem != "", "%s: %s", test.line, problem)
		require.Equal(t, test.want, got, test.line)
	}
}

func TestExplainTellsWhatWasDecided(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	text := Explain(&client.Error{
		Status: 409, Code: "approval_state_conflict", Detail: "run r is not waiting for approval",
		Recorded: &api.RecordedDecision{RequestID: "a", Outcome: "allowed", ResolvedBy: "bob\x1b", ResolvedAtMs: 700_000, Via: "api"},
	}, now)
	require.Contains(t, text, `a was allowed by bob\x1b, 5m ago`)
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
}
