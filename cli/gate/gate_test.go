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

// A decision counts when it is about the very request of the call. Whatever a rule could have
// matched instead makes it another one.
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
		"none":              nil,
		"another request":   settled(func(s *api.SettledApproval) { s.Request.ID, s.Resolution.RequestID = "other", "other" }),
		"another's edit":    settled(func(s *api.SettledApproval) { s.Resolution.RequestID = "other" }),
		"another input":     settled(func(s *api.SettledApproval) { s.Request.Input = api.JSON(`{"command":"ls","argv":["rm"],"cwd":"/w"}`) }),
		"another directory": settled(func(s *api.SettledApproval) { s.Request.Input = api.JSON(`{"command":"ls","argv":["ls"],"cwd":"/"}`) }),
		"another tool":      settled(func(s *api.SettledApproval) { s.Request.ToolName = "date" }),
		"another call":      settled(func(s *api.SettledApproval) { s.Request.ToolCallID = "c" }),
		"pattern keys":      settled(func(s *api.SettledApproval) { s.Request.PatternKeys = []string{"harmless"} }),
		"one more beside it": append(settled(func(*api.SettledApproval) {}),
			settled(func(s *api.SettledApproval) { s.Request.ID, s.Resolution.RequestID = "other", "other" })...),
	} {
		_, err := decisionOn(asked, &api.Resume{Approvals: decisions})
		require.Error(t, err, name)
	}
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
