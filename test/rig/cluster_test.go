//go:build unix

package rig_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestAKilledClusterKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	cluster := rig.NewCluster(t, rig.ClusterOptions{Settings: map[string]string{"work_mem": "5MB"}})
	require.NoError(t, cluster.Start())
	require.Error(t, cluster.Start(), "it runs already")
	database, err := cluster.CreateDatabase("kept")
	require.NoError(t, err)

	conn, err := pgx.Connect(ctx, database)
	require.NoError(t, err)
	var setting string
	require.NoError(t, conn.QueryRow(ctx, "SHOW work_mem").Scan(&setting))
	require.Equal(t, "5MB", setting)
	require.NoError(t, conn.QueryRow(ctx, "SHOW fsync").Scan(&setting))
	require.Equal(t, "on", setting)
	_, err = conn.Exec(ctx, "CREATE TABLE words AS SELECT 'acknowledged' AS word")
	require.NoError(t, err)

	cluster.Kill()
	require.Error(t, conn.Ping(ctx), "the backend of this connection was killed as well")
	_ = conn.Close(ctx)
	require.NoError(t, cluster.Start())
	require.Contains(t, cluster.Log(), "automatic recovery in progress")

	conn, err = pgx.Connect(ctx, database)
	require.NoError(t, err)
	var word string
	require.NoError(t, conn.QueryRow(ctx, "SELECT word FROM words").Scan(&word))
	require.Equal(t, "acknowledged", word)
	require.NoError(t, conn.Close(ctx))
	require.NoError(t, cluster.Stop())
	require.NoError(t, cluster.Start())
	cluster.Kill()
}
