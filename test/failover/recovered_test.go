//go:build unix && faults

package failover

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The server recovers in place when one of its processes is killed, and loses what it had not flushed: its
// main process goes on. No worker is handed a decision that was lost.
func TestWhatARecoveryInPlaceLostAllowsNothing(t *testing.T) {
	t.Parallel()
	cluster := rig.NewCluster(t, rig.ClusterOptions{Settings: map[string]string{"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "0"}})
	require.NoError(t, cluster.Start())
	url, err := cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)
	told := &lossObserver{sessions: make(chan int, 100)}
	first, second := openStore(t, url, told), openStore(t, url, nil)
	// A page that is written to make room flushes the decision, by chance.
	for n := range 5 {
		ctx := rig.Soon(t)
		runID := fmt.Sprint("run-", n)
		again(t, func() error {
			return do(ctx, first, &runs.CreateRun{
				SessionID: "session-of-" + runID, RunID: runID, Key: "create", Input: api.JSON(`"work"`), SessionGiven: true, Suspend: rig.Approvals("deploy"),
			})
		})
		onServer(t, cluster, "postgres", `SET synchronous_commit = on`, `SELECT pg_logical_emit_message(true, 'flush', '')`)
		freezeWriters(t, cluster)
		again(t, func() error { return do(ctx, first, decide(runID, api.BehaviorAllow)) })
		killBackend(t, cluster)

		var outcome api.Outcome
		again(t, func() error {
			read, err := second.Run(ctx, runID)
			if err == nil {
				outcome = read.Requests[0].Outcome
			}
			return err
		})
		if outcome != "" {
			continue
		}
		again(t, func() error { return do(ctx, second, decide(runID, api.BehaviorDeny)) })
		requireDenied(t, first, runID)
		require.Positive(t, <-told.sessions, "the decision is missed")
		return
	}
	t.Fatal("the server has lost nothing")
}

// A database is replaced by an earlier copy of it, by a swap of names, while the services run.
func TestWhatARestoreTookBackAllowsNothing(t *testing.T) {
	t.Parallel()
	cluster := rig.NewCluster(t, rig.ClusterOptions{})
	require.NoError(t, cluster.Start())
	url, err := cluster.CreateDatabase("holdpoint")
	require.NoError(t, err)
	ctx := rig.Soon(t)
	told := &lossObserver{sessions: make(chan int, 100)}
	first, second := openStore(t, url, told), openStore(t, url, nil)
	require.NoError(t, do(ctx, first, &runs.CreateRun{
		SessionID: "s", RunID: "known", Input: api.JSON(`"work"`), SessionGiven: true, Suspend: rig.Approvals("deploy"),
	}))
	const alone = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'holdpoint'`
	onServer(t, cluster, "postgres", `ALTER DATABASE holdpoint ALLOW_CONNECTIONS false`, alone)
	again(t, func() error { return tryOnServer(t, cluster, `CREATE DATABASE earlier TEMPLATE holdpoint`) })
	onServer(t, cluster, "postgres", `ALTER DATABASE holdpoint ALLOW_CONNECTIONS true`)
	again(t, func() error { return do(ctx, first, decide("known", api.BehaviorAllow)) })

	onServer(t, cluster, "postgres", `ALTER DATABASE holdpoint ALLOW_CONNECTIONS false`, alone)
	again(t, func() error { return tryOnServer(t, cluster, `ALTER DATABASE holdpoint RENAME TO replaced`) })
	onServer(t, cluster, "postgres", `ALTER DATABASE earlier RENAME TO holdpoint`)
	again(t, func() error { return do(ctx, second, decide("known", api.BehaviorDeny)) })
	requireDenied(t, first, "known")
	require.Positive(t, <-told.sessions, "the decision is missed")
}

func requireDenied(t *testing.T, store *postgres.Store, runID string) {
	t.Helper()
	var claimed runs.Reply
	again(t, func() (err error) {
		claimed, err = store.Do(rig.Soon(t), &runs.ClaimRun{RunID: runID, WorkerID: "worker"})
		return err
	})
	require.Equal(t, []api.Outcome{api.OutcomeDenied}, rig.Outcomes(claimed.Claim.Resume))
}

func openStore(t *testing.T, url string, observer door.Observer) *postgres.Store {
	t.Helper()
	opened, err := postgres.Open(t.Context(), url, postgres.Options{Migrate: true, Door: door.Options{Observer: observer}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened
}

// onServer runs statements on a connection of its own.
func onServer(t *testing.T, cluster *rig.Cluster, database string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.URL(database))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// tryOnServer runs a statement that is refused while somebody is connected.
func tryOnServer(t *testing.T, cluster *rig.Cluster, statement string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		return fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
	}
	return nil
}

// freezeWriters stops the processes that flush what is committed. The server kills them when it recovers.
func freezeWriters(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')`)
	require.NoError(t, err)
	writers, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.NotEmpty(t, writers)
	for _, pid := range writers {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
}

// killBackend kills a process of the server as a crash does, and returns once the server has recovered.
func killBackend(t *testing.T, cluster *rig.Cluster) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.URL("postgres"))
	require.NoError(t, err)
	const resetAt = `SELECT coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '')`
	var before string
	require.NoError(t, conn.QueryRow(t.Context(), resetAt).Scan(&before))
	require.NoError(t, syscall.Kill(int(conn.PgConn().PID()), syscall.SIGKILL))
	_ = conn.Close(t.Context())
	rig.Await(t, func() bool {
		conn, err := pgx.Connect(t.Context(), cluster.URL("postgres"))
		if err != nil {
			return false
		}
		defer conn.Close(t.Context())
		var after string
		return conn.QueryRow(t.Context(), resetAt).Scan(&after) == nil && after != before
	})
}
