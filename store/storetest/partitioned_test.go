//go:build partitions

package storetest_test

import (
	_ "embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/storetest"
)

//go:embed testdata/partitioned.sql
var sqlPartitioned string

// TestPartitionedPostgres runs the contract on tables that are hash-partitioned by session
// (docs/scaling.md). It has a build tag, because users do not have such tables.
func TestPartitionedPostgres(t *testing.T) {
	t.Parallel()
	engine := postgresEngine
	engine.Fresh = func(tb testing.TB) storetest.Database {
		tb.Helper()
		database := newPostgresDatabase(tb)
		_, err := database.db.ExecContext(tb.Context(), sqlPartitioned)
		require.NoError(tb, err)
		var partitions int
		require.NoError(tb, database.db.QueryRowContext(tb.Context(), `SELECT count(*) FROM pg_inherits`).Scan(&partitions))
		require.Greater(tb, partitions, 8*4)
		return database
	}
	storetest.Run(t, engine)
}
