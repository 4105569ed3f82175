package cli

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/refusal"
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
		out, err := exec.Command("/bin/sh", "-c", `set -- `+quoteLine(argv)+`; for a in "$@"; do printf '%s\0' "$a"; done`).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(argv, "\x00")+"\x00", string(out))
	}
	require.Equal(t, "rm -rf ./build", quoteLine([]string{"rm", "-rf", "./build"}), "nothing is quoted without need")
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
		require.Equal(t, want, printable(text, false), "%q", text)
	}
	require.Equal(t, "a\nb", printable("a\nb", true))
	require.Equal(t, "abcd…", cell("abcdefgh", 5))
}

func TestPlanOf(t *testing.T) {
	t.Parallel()
	const shown = `{"command":"rm -rf build","argv":["rm","-rf","build"],"cwd":"/w"}`
	for name, test := range map[string]struct {
		updated string
		want    plan
	}{
		"as asked":                {"", plan{argv: []string{"rm", "-rf", "build"}, cwd: "/w"}},
		"sent back unchanged":     {shown, plan{argv: []string{"rm", "-rf", "build"}, cwd: "/w"}},
		"argv":                    {`{"argv":["ls"]}`, plan{argv: []string{"ls"}, cwd: "/w", edited: true}},
		"argv wins":               {`{"argv":["ls"],"command":"id"}`, plan{argv: []string{"ls"}, cwd: "/w", edited: true}},
		"line":                    {`{"command":"ls | wc"}`, plan{argv: []string{"/bin/sh", "-c", "ls | wc"}, cwd: "/w", edited: true}},
		"line beside the argv":    {`{"command":"ls","argv":["rm","-rf","build"]}`, plan{argv: []string{"/bin/sh", "-c", "ls"}, cwd: "/w", edited: true}},
		"directory":               {`{"command":"rm -rf build","cwd":"/v"}`, plan{argv: []string{"rm", "-rf", "build"}, cwd: "/v", edited: true}},
		"nothing but blanks more": {`{"command":" rm -rf build "}`, plan{argv: []string{"rm", "-rf", "build"}, cwd: "/w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settled := api.SettledApproval{Request: api.ApprovalRequest{ID: "a", Input: api.JSON(shown)}}
			if test.updated != "" {
				settled.Resolution.UpdatedInput = api.JSON(test.updated)
			}
			got, err := planOf(settled)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	// What holds no command runs nothing.
	_, err := planOf(api.SettledApproval{Request: api.ApprovalRequest{Input: api.JSON(`{"argv":[]}`)}})
	require.Error(t, err)
}

func TestGateIDs(t *testing.T) {
	t.Parallel()
	a, b := newGateIDs("exec", "approval", "", "key"), newGateIDs("exec", "approval", "", "key")
	require.Equal(t, a, b, "a key always stands for the same run")
	require.NotEqual(t, a, newGateIDs("exec", "approval", "", "other"))
	require.NotEqual(t, a.run, newGateIDs("ask", "question", "", "key").run, "exec and ask share no keys")
	one, other := newGateIDs("exec", "approval", "", ""), newGateIDs("exec", "approval", "", "")
	require.NotEqual(t, one, other, "without a key every call is one of its own")
	for _, id := range []string{a.session, a.run, a.request, newGateIDs("ask", "question", "", "").run} {
		require.True(t, refusal.ValidID(id), id)
	}
	require.Equal(t, "s", newGateIDs("exec", "approval", "s", "key").session)
	require.True(t, refusal.ValidID(workerID("exec")))
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
	text := explain(&client.Error{
		Status: 409, Code: "approval_state_conflict", Detail: "run r is not waiting for approval",
		Recorded: &api.RecordedDecision{RequestID: "a", Outcome: "allowed", ResolvedBy: "bob\x1b", ResolvedAtMs: 700_000, Via: "api"},
	}, now)
	require.Contains(t, text, `a was allowed by bob\x1b, 5m ago`)
	require.Equal(t, "plain", explain(errors.New("plain"), now))
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(10_000_000_000)
	for passed, want := range map[time.Duration]string{
		0: "0s ago", 59 * time.Second: "59s ago", time.Minute: "1m ago", 47 * time.Hour: "47h ago",
		72 * time.Hour: "3d ago", -90 * time.Second: "in 1m",
	} {
		require.Equal(t, want, ago(now.Add(-passed).UnixMilli(), now))
	}
	require.Empty(t, ago(0, now))
}
