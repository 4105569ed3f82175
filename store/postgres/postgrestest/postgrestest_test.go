package postgrestest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

func TestEachTestHasAFreshDatabaseWithTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	first, second := postgrestest.URL(t), postgrestest.URL(t)
	require.NotEqual(t, first, second)
	for _, dsn := range []string{first, second} {
		conn, err := pgx.Connect(ctx, dsn)
		require.NoError(t, err)
		var count int
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM runs").Scan(&count))
		require.Zero(t, count)
		_, err = conn.Exec(ctx, "INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id) VALUES (0, 0, 1, 1, 'one', 'a')")
		require.NoError(t, err)
		require.NoError(t, conn.Close(ctx))
	}
}

func TestAnEmptyDatabaseHasNoSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t, postgrestest.Empty()))
	require.NoError(t, err)
	var there bool
	require.NoError(t, conn.QueryRow(ctx, "SELECT to_regclass('runs') IS NOT NULL").Scan(&there))
	require.False(t, there)
	require.NoError(t, conn.Close(ctx))
}
