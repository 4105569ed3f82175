package cli_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// answering is a person who takes a while to answer.
type answering struct {
	meanwhile func()
	text      io.Reader
}

func (a *answering) Read(into []byte) (int, error) {
	if a.meanwhile != nil {
		a.meanwhile()
		a.meanwhile = nil
	}
	return a.text.Read(into)
}

// The decision and the rule apply to the shown request, even if another one has the same id
// by the time of the answer.
func TestRememberIsAboutWhatWasShown(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, inMemory(t)...)
	c := connect(t, url)
	raise := func(runID, command string) {
		_, err := c.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
			{ID: "same", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + command + `"}`)},
		}}})
		require.NoError(t, err)
	}
	raise("shown", "ls")
	person := &answering{text: bytes.NewBufferString("y\n"), meanwhile: func() {
		_, err := c.ResolveRunApprovals(t.Context(), "shown", client.ResolveApprovalsParams{
			Resolutions: []api.ApprovalResolution{{RequestID: "same", Behavior: api.BehaviorDeny}},
		})
		require.NoError(t, err)
		raise("another", "rm -rf /")
	}}
	got := runReading(t.Context(), nil, person, "approvals", "allow", "same", "--run-id", "shown", "--remember", "always", "--server", url)
	require.Equal(t, 1, got.code, got.stdout)
	require.Contains(t, got.stderr, "denied")
	other, err := c.GetRun(t.Context(), "another")
	require.NoError(t, err)
	require.Equal(t, []string{"same"}, other.PendingApprovalIDs)
	rules, err := c.ListRules(t.Context(), client.RuleListParams{})
	require.NoError(t, err)
	require.Empty(t, rules.Items)
}
