package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
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
