package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestPlanOf(t *testing.T) {
	t.Parallel()
	const shown = `{"command":"rm -rf build","argv":["rm","-rf","build"],"cwd":"/w"}`
	for name, test := range map[string]struct {
		updated string
		want    plan
	}{
		"as asked":                {"", plan{argv: []string{"rm", "-rf", "build"}, cwd: "/w"}},
		"sent back unchanged":     {shown, plan{argv: []string{"rm", "-rf", "build"}, cwd: "/w"}},
		"argv":                    {`{"argv":["ls"]}`, plan{argv: []string{"ls"}, cwd: "/w", edited: true, shown: []string{"rm", "-rf", "build"}}},
		"argv wins":               {`{"argv":["ls"],"command":"id"}`, plan{argv: []string{"ls"}, cwd: "/w", edited: true, shown: []string{"rm", "-rf", "build"}}},
		"line":                    {`{"command":"ls | wc"}`, plan{argv: []string{"/bin/sh", "-c", "ls | wc"}, cwd: "/w", edited: true}},
		"line and argv":           {`{"command":"ls","argv":["rm","-rf","build"]}`, plan{argv: []string{"/bin/sh", "-c", "ls"}, cwd: "/w", edited: true}},
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
			test.want.sameCwd = test.want.cwd == "/w"
			require.Equal(t, test.want, got)
		})
	}
	// An input without a command runs nothing.
	_, err := planOf(api.SettledApproval{Request: api.ApprovalRequest{Input: api.JSON(`{"argv":[]}`)}})
	require.Error(t, err)
}

// The edit replaces the variables as a whole, and the command does not get one that it removes.
func TestPlanOfEditedVariables(t *testing.T) {
	t.Parallel()
	const shown = `{"command":"ls","argv":["ls"],"cwd":"/w","env":{"A":"1","LD_PRELOAD":"/x.so"}}`
	for name, test := range map[string]struct {
		updated string
		env     map[string]string
		without []string
		edited  bool
	}{
		"as asked":            {"", map[string]string{"A": "1", "LD_PRELOAD": "/x.so"}, nil, false},
		"sent back unchanged": {shown, map[string]string{"A": "1", "LD_PRELOAD": "/x.so"}, nil, false},
		"one removed":         {`{"argv":["ls"],"env":{"A":"2","B":"3"}}`, map[string]string{"A": "2", "B": "3"}, []string{"LD_PRELOAD"}, true},
		"none left":           {`{"argv":["ls"],"env":{}}`, map[string]string{}, []string{"A", "LD_PRELOAD"}, true},
		"no env":              {`{"argv":["ls"]}`, nil, []string{"A", "LD_PRELOAD"}, true},
	} {
		settled := api.SettledApproval{Request: api.ApprovalRequest{ID: "a", Input: api.JSON(shown)}}
		if test.updated != "" {
			settled.Resolution.UpdatedInput = api.JSON(test.updated)
		}
		got, err := planOf(settled)
		require.NoError(t, err, name)
		require.Equal(t, plan{argv: []string{"ls"}, cwd: "/w", env: test.env, without: test.without, edited: test.edited, sameCwd: true}, got, name)
	}
}

// A decision counts only for the exact request of the call. It differs if any member does
// by which a rule could have matched.
func TestDecisionOn(t *testing.T) {
	t.Parallel()
	asked := api.ApprovalRequest{
		ID: "approval-1", ToolCallID: "approval-1", ToolName: "exec", Reason: "please",
		Input: api.JSON(`{"command":"ls","argv":["ls"],"cwd":"/w"}`),
	}
	settled := func(change func(*api.SettledApproval)) []api.SettledApproval {
		one := api.SettledApproval{Request: asked, Resolution: api.Resolution{RequestID: asked.ID, Outcome: api.OutcomeAllowed}}
		change(&one)
		return []api.SettledApproval{one}
	}
	for name, decisions := range map[string][]api.SettledApproval{
		"as asked":                    settled(func(*api.SettledApproval) {}),
		"members in another order":    settled(func(s *api.SettledApproval) { s.Request.Input = api.JSON(`{"cwd":"/w", "argv":["ls"],"command":"ls"}`) }),
		"another reason and deadline": settled(func(s *api.SettledApproval) { s.Request.Reason, s.Request.ExpiresAtMs = "", new(int64) }),
		"an edit of it":               settled(func(s *api.SettledApproval) { s.Resolution.UpdatedInput = api.JSON(`{"argv":["pwd"]}`) }),
	} {
		_, err := decisionOn(asked, &api.Resume{Approvals: decisions})
		require.NoError(t, err, name)
	}
	for name, decisions := range map[string][]api.SettledApproval{
		"none":                      nil,
		"another request":           settled(func(s *api.SettledApproval) { s.Request.ID, s.Resolution.RequestID = "other", "other" }),
		"another's edit":            settled(func(s *api.SettledApproval) { s.Resolution.RequestID = "other" }),
		"another input":             settled(func(s *api.SettledApproval) { s.Request.Input = api.JSON(`{"command":"ls","argv":["rm"],"cwd":"/w"}`) }),
		"another directory":         settled(func(s *api.SettledApproval) { s.Request.Input = api.JSON(`{"command":"ls","argv":["ls"],"cwd":"/"}`) }),
		"another request directory": settled(func(s *api.SettledApproval) { s.Request.Directory = "/srv" }),
		"another tool":              settled(func(s *api.SettledApproval) { s.Request.ToolName = "date" }),
		"another call":              settled(func(s *api.SettledApproval) { s.Request.ToolCallID = "c" }),
		"pattern keys":              settled(func(s *api.SettledApproval) { s.Request.PatternKeys = []string{"harmless"} }),
		"one more with it": append(settled(func(*api.SettledApproval) {}),
			settled(func(s *api.SettledApproval) { s.Request.ID, s.Resolution.RequestID = "other", "other" })...),
	} {
		_, err := decisionOn(asked, &api.Resume{Approvals: decisions})
		require.Error(t, err, name)
	}
}

func TestNamesOfRuns(t *testing.T) {
	t.Parallel()
	ids := func(noun, session, key string, of call, generation int) []string {
		g := &gate{noun: noun, session: session, key: key}
		var request string
		g.named = func(suffix string) { request = "approval-" + suffix }
		g.name(of, generation)
		return []string{g.params.SessionID, g.params.RunID, request}
	}
	mine := call{principal: "agent:ada", digest: "sha256:1"}
	a := ids("exec", "", "key", mine, 0)
	require.Equal(t, a, ids("exec", "", "key", mine, 0), "a key always stands for the same run")
	for why, other := range map[string][]string{
		"another key":                             ids("exec", "", "other", mine, 0),
		"exec and ask share no keys":              ids("ask", "", "key", mine, 0),
		"another principal":                       ids("exec", "", "key", call{"agent:bert", mine.digest}, 0),
		"another command":                         ids("exec", "", "key", call{mine.principal, "sha256:2"}, 0),
		"after the first was spent":               ids("exec", "", "key", mine, 1),
		"without a key every call is one its own": ids("exec", "", "", mine, 0),
	} {
		require.NotEqual(t, a[1], other[1], why)
		require.NotEqual(t, a[2], other[2], why)
	}
	first, second := ids("exec", "", "", mine, 0), ids("exec", "", "", mine, 0)
	require.NotEqual(t, first, second)
	for _, id := range a {
		require.True(t, refusal.ValidID(id), id)
	}
	require.Equal(t, "s", ids("exec", "s", "key", mine, 0)[0])
	require.True(t, refusal.ValidID(workerID("exec")))
}

func TestALabelThatIsTooLong(t *testing.T) {
	t.Parallel()
	fits, long := console.Named{Label: strings.Repeat("é", api.MaxLabelLength)}, console.Named{Label: strings.Repeat("é", api.MaxLabelLength+1)}
	require.NoError(t, (&Exec{Lease: time.Minute, Named: fits}).check())
	require.EqualError(t, (&Exec{Lease: time.Minute, Named: long}).check(), "--session-label must have at most 80 characters")
	require.NoError(t, (&Ask{Question: "Deploy?", Named: fits}).check())
	require.EqualError(t, (&Ask{Question: "Deploy?", Named: long}).check(), "--session-label must have at most 80 characters")
}
