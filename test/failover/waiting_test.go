//go:build unix && faults

package failover

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/test/rig"
)

// While the standby is down, a commit waits at the primary. If such a wait is cancelled,
// the server ends it as if the standby had answered: the decision becomes visible, and a
// repeated call would be told so, although the standby does not have it. So a caller that
// gives up on a commit must not cancel it.
func TestADecisionThatTheStandbyHasNotSeenIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	p := &pair{primary: rig.NewCluster(t, rig.ClusterOptions{Settings: map[string]string{"synchronous_standby_names": standbyName}})}
	require.NoError(t, p.primary.Start())
	p.standby = startStandby(t, p.primary)
	require.NoError(t, p.primary.AwaitStandby(standbyName, "sync"))
	_, err := p.primary.CreateDatabase("holdpoint")
	require.NoError(t, err)
	opened, err := postgres.Open(t.Context(), p.database(), postgres.Options{
		Migrate: true, Door: door.Options{Timeout: 500 * time.Millisecond},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	ctx := rig.Soon(t)
	// A slow machine may need more than one try within the time for a commit.
	rig.Await(t, func() bool {
		_, err := opened.Do(ctx, &runs.CreateRun{
			SessionID: "session", RunID: "run", Input: api.JSON(`"work"`), SessionGiven: true, Key: "made",
			Suspend: rig.Approvals("deploy"),
		})
		return err == nil
	})
	allow := func() error {
		_, err := opened.Do(ctx, &runs.ResolveApprovals{
			RunID: "run", Key: "friday", Actor: runs.Actor{Name: "person", Via: "test"},
			Resolutions: []runs.ApprovalDecision{{RequestID: "deploy", Behavior: api.BehaviorAllow}},
		})
		return err
	}

	require.NoError(t, p.standby.Stop())
	require.ErrorIs(t, allow(), runs.ErrUnavailable)
	for range 3 {
		require.ErrorIs(t, allow(), runs.ErrUnavailable, "acknowledged, and the standby does not have it")
	}
	// The standby comes back, and with it the answer.
	require.NoError(t, p.standby.Start())
	rig.Await(t, func() bool {
		err := allow()
		require.True(t, err == nil || errors.Is(err, runs.ErrUnavailable), "%v", err)
		return err == nil
	})
}
