package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A run whose earlier decisions fill more than one page of the service: a handler that starts
// from the top is handed the last one, though its claim has none of them.
func TestADecisionOnALaterPageIsFound(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	large := func(i int) api.ApprovalRequest { return approval(fmt.Sprint("a", i), strings.Repeat("x", 900<<10)) }
	const many = 6
	created := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x", Claim: &api.ClaimOptions{WorkerID: "before"}}))(t)
	runID, fence := created.RunID, created.Claim.Lease.Fence
	for i := range many {
		must(c.Suspend(t.Context(), runID, fence, api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{large(i)}}))(t)
		must(c.ResolveRunApprovals(t.Context(), runID, allowing(large(i).ID)))(t)
	}
	must(c.Heartbeat(t.Context(), runID, client.HeartbeatParams{Fence: fence, Checkpoint: api.JSON(`1`), SettledAfter: new(int64(many))}))(t)
	first := must(c.AwaitSettled(t.Context(), runID, fence, "0", 0))(t)
	require.Less(t, len(first.Settled), many)
	require.Positive(t, first.Open)
	must(c.ReleaseRun(t.Context(), runID, fence, nil))(t)

	work(t, c, func(ctx context.Context, task *client.Task) error {
		require.Nil(t, task.Resume())
		adopted, err := task.Approve(ctx, large(many-1))
		if err != nil {
			return err
		}
		return task.Complete(ctx, adopted.Outcome)
	})
	ended := must(c.WaitRun(t.Context(), runID, client.UntilTerminal))(t)
	require.Equal(t, `"allowed"`, string(ended.Output), ended.Error)
}
