//go:build unix && faults

package failover

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/telemetry"
	"github.com/holdpoint/holdpoint/test/rig"
)

// A standby that replicates asynchronously does not have all that the primary acknowledged. When it takes
// over, what a replica remembers is of a history that no longer is, under numbers that the other history
// gives out again. What is on record counts: no worker is handed a decision that was lost, and no rule
// that was lost allows anything.
func TestWhatAFailoverLostAllowsNothing(t *testing.T) {
	t.Parallel()
	p := &pair{primary: rig.NewCluster(t, rig.ClusterOptions{})}
	require.NoError(t, p.primary.Start())
	p.standby = startStandby(t, p.primary)
	require.NoError(t, p.primary.AwaitStandby(standbyName, "async"))
	_, err := p.primary.CreateDatabase("holdpoint")
	require.NoError(t, err)
	ctx := rig.Soon(t)
	told := &lossObserver{sessions: make(chan int, 1)}
	first, second := openReplica(t, p, told), openReplica(t, p, nil)

	for _, runID := range []string{"known"} {
		require.NoError(t, do(ctx, first, &runs.CreateRun{
			SessionID: "session-of-" + runID, RunID: runID, Input: api.JSON(`"work"`), SessionGiven: true, Suspend: rig.Approvals("deploy"),
		}))
	}
	require.NoError(t, do(ctx, first, rule("replicated", "read")))
	// The first replica has matched a command against rules, and remembers them.
	require.NoError(t, do(ctx, first, &runs.CreateRun{RunID: "before", Input: api.JSON(`"work"`), Suspend: rig.Approvals("deploy")}))
	awaitReplayed(t, p)
	require.NoError(t, p.standby.Stop())
	require.NoError(t, do(ctx, first, decide("known", api.BehaviorAllow)))
	require.NoError(t, do(ctx, first, rule("lost", "deploy")))
	require.NoError(t, do(ctx, first, &runs.CreateRun{RunID: "allowed", Input: api.JSON(`"work"`), Suspend: rig.Approvals("deploy")}))
	allowed, err := first.Run(ctx, "allowed")
	require.NoError(t, err)
	require.Equal(t, api.StatusRunning, allowed.Run.Status, "the rule that is lost next is in force")

	p.primary.Kill()
	require.NoError(t, p.standby.Start())
	require.NoError(t, p.standby.Promote())
	again(t, func() error { return do(ctx, second, decide("known", api.BehaviorDeny)) })
	again(t, func() error { return do(ctx, second, rule("other", "write")) })

	var claimed runs.Reply
	again(t, func() (err error) {
		claimed, err = first.Do(ctx, &runs.ClaimRun{RunID: "known", WorkerID: "worker"})
		return err
	})
	require.Equal(t, []api.Outcome{api.OutcomeDenied}, rig.Outcomes(claimed.Claim.Resume))
	require.Positive(t, <-told.sessions, "the run that is not there is missed")
	again(t, func() error {
		return do(ctx, first, &runs.CreateRun{RunID: "asks", Input: api.JSON(`"work"`), Suspend: rig.Approvals("deploy")})
	})
	asks, err := first.Run(ctx, "asks")
	require.NoError(t, err)
	require.Equal(t, api.StatusWaitingForApproval, asks.Run.Status)
}

// lossObserver is told how many sessions a replica misses.
type lossObserver struct {
	telemetry.All
	sessions chan int
}

func (l *lossObserver) Lost(sessions int) { l.sessions <- sessions }

func openReplica(t *testing.T, p *pair, observer door.Observer) *postgres.Store {
	t.Helper()
	opened, err := postgres.Open(t.Context(), p.database(), postgres.Options{Migrate: true, Door: door.Options{Observer: observer}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened
}

func do(ctx context.Context, store *postgres.Store, command runs.Command) error {
	_, err := store.Do(ctx, command)
	return err
}

func decide(runID string, behavior api.Behavior) *runs.ResolveApprovals {
	return &runs.ResolveApprovals{
		RunID: runID, Key: string(behavior), Actor: runs.Actor{Name: "person", Via: "test"},
		Resolutions: []runs.ApprovalDecision{{RequestID: "deploy", Behavior: behavior}},
	}
}

// rule allows every call of a tool in all sessions.
func rule(ruleID, toolName string) *runs.AddRule {
	return &runs.AddRule{
		RuleID: ruleID, SessionID: rules.AllSessions, ToolName: toolName, Match: api.RuleMatch{AnyInput: true},
		Actor: runs.Actor{Name: "person", Via: "test"},
	}
}

// again gives a command until the replicas have found the new primary.
func again(t *testing.T, command func() error) {
	t.Helper()
	rig.Await(t, func() bool {
		err := command()
		require.True(t, err == nil || errors.Is(err, runs.ErrUnavailable), "%v", err)
		return err == nil
	})
}

// awaitReplayed returns when the standby has what is committed at the primary.
func awaitReplayed(t *testing.T, p *pair) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.primary.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var reached string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT pg_current_wal_flush_lsn()::text`).Scan(&reached))
	rig.Await(t, func() (replayed bool) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), false) FROM pg_stat_replication`, reached).Scan(&replayed))
		return replayed
	})
}
