//go:build unix && faults

package linearizability

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// forgets are the ways in which all data can disappear while the replicas remember it. Each
// episode reuses the ids of the previous one, so that a replica that decides from memory
// contradicts the history.
var forgets = []struct {
	name   string
	forget func(*service, *testing.T)
}{
	{"retention", (*service).retain},
	{"a database that is swapped for an older one", (*service).swap},
}

// makeOldSQL changes the times of finished rows as if they had ended hours ago. Events keep their
// times, which are part of their chain.
const makeOldSQL = `
UPDATE runs SET finished_at_ms = finished_at_ms - 36000000 WHERE finished_at_ms IS NOT NULL;
UPDATE sessions SET updated_at_ms = updated_at_ms - 36000000`

// retain ends every run and has another replica delete all of them.
func (s *service) retain(t *testing.T) {
	t.Helper()
	people := s.replicas[0].Connect(client.WithRetry(client.RetryPolicy{MaxAttempts: 20}))
	ctx := rig.Soon(t)
	for run, err := range people.AllRuns(ctx, client.RunListParams{}) {
		require.NoError(t, err)
		if !terminal(run.Status) {
			_, err := people.CancelRun(ctx, run.RunID, "the episode is over")
			require.NoError(t, err)
		}
	}
	db, err := pgx.Connect(ctx, s.url)
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(ctx))
	_, err = db.Exec(ctx, makeOldSQL)
	require.NoError(t, err)
	deleting := rig.Start(t, rig.Options{Database: s.url, Args: []string{"--keep-runs", "1h", "--keep-rules", "1h", "--idempotency-retention", "1h"}})
	rig.Await(t, func() bool {
		var left int
		require.NoError(t, db.QueryRow(ctx, `SELECT count(*) FROM sessions`).Scan(&left))
		return left == 0
	}, "retention deletes the sessions")
	deleting.Kill()
}

// swap replaces the database by an older copy while the replicas run, as an operator does who
// restores a backup under another name and then renames it.
func (s *service) swap(t *testing.T) {
	t.Helper()
	ctx := rig.Soon(t)
	admin, err := pgx.Connect(ctx, s.cluster.URL("postgres"))
	require.NoError(t, err)
	defer admin.Close(context.WithoutCancel(ctx))
	s.swaps++
	for _, statement := range []string{
		"ALTER DATABASE holdpoint ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'holdpoint'",
		fmt.Sprintf("ALTER DATABASE holdpoint RENAME TO before_%d", s.swaps),
		// Blocks that are copied by way of the log have a sequence repeat its numbers after a crash.
		"CREATE DATABASE holdpoint TEMPLATE backup STRATEGY FILE_COPY",
	} {
		_, err := admin.Exec(ctx, statement)
		require.NoError(t, err, statement)
	}
	for _, r := range s.replicas {
		require.NoError(t, r.AwaitReady())
	}
}

// backUp copies the database as it is before anything has happened in it.
func (s *service) backUp(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.cluster.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE backup TEMPLATE holdpoint")
	return errors.Join(err, conn.Close(ctx))
}
