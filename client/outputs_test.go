package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A run with more output than one reply may contain completes, is shown, and can be read
// completely.
func TestRunWithMuchOutput(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	ctx := t.Context()
	const count, size = 70, 500_000
	created := must(c.CreateRun(ctx, client.CreateRunParams{Input: "x", Claim: &api.ClaimOptions{WorkerID: "w"}}))(t)
	fence := created.Claim.Lease.Fence
	runID := created.Claim.Run.RunID
	for n := range count {
		_, err := c.AppendEvents(ctx, runID, fence, []api.JSON{
			api.JSON(fmt.Sprintf(`{"type":"output","content":"%03d%s"}`, n, strings.Repeat("x", size))),
		})
		require.NoError(t, err)
	}
	completed := must(c.CompleteRun(ctx, runID, fence, api.JSON(`"done"`)))(t)
	require.Equal(t, api.StatusCompleted, completed.Status)
	require.Empty(t, completed.Outputs)
	require.EqualValues(t, count, completed.OutputsCount)

	shown := must(c.GetRun(ctx, runID))(t)
	require.True(t, shown.OutputsTruncated)
	require.Len(t, shown.Outputs, 8)
	require.Equal(t, "069", shown.Outputs[7].Content[:3])
	session := must(c.GetSession(ctx, completed.SessionID))(t)
	require.True(t, session.OutputsTruncated)
	require.Len(t, session.Outputs, 8)
	listed := must(c.ListRuns(ctx, client.RunListParams{SessionID: completed.SessionID}))(t)
	require.NotNil(t, listed.Items[0].Outputs)
	require.Empty(t, listed.Items[0].Outputs)
	require.EqualValues(t, count, listed.Items[0].OutputsCount)

	number := 0
	for output, err := range c.AllOutputs(ctx, runID) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%03d", number), output.Content[:3])
		require.Equal(t, runID, output.RunID)
		require.NotEmpty(t, output.EventID)
		number++
	}
	require.Equal(t, count, number)
	number = 0
	for entry, err := range c.AllRunEvents(ctx, runID, client.EventListParams{}) {
		require.NoError(t, err)
		if strings.Contains(string(entry.Event[:20]), "output") {
			number++
		}
	}
	require.Equal(t, count, number)
	for _, err := range c.AllOutputs(ctx, "nobody") {
		require.ErrorIs(t, err, client.ErrNotFound)
	}
}
