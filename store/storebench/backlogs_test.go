package storebench

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// copied returns the statement that copies the rows of a table many times, with values of their own
// where others has them, of n.
func copied[R any](table *columns.Table[R], sqlite bool, count int, others map[string]string) string {
	var names, values []string
	for i := range table.Columns {
		c := &table.Columns[i]
		if sqlite && c.Large() {
			continue
		}
		names, values = append(names, c.Name), append(values, c.Name)
		if other, there := others[c.Name]; there {
			values[len(values)-1] = other
		}
	}
	return fmt.Sprintf("WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < %d) INSERT INTO %s (%s) SELECT %s FROM %s, counted",
		count, table.Name, strings.Join(names, ", "), strings.Join(values, ", "), table.Name)
}

// waiting multiplies a waiting run, for a hundred principals.
func waiting(b *testing.B, store runs.Store, driver, name string, count int) {
	b.Helper()
	_, err := store.Do(b.Context(), &runs.CreateRun{
		SessionID: "s0", SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"rm -rf build"}`)}}},
	})
	require.NoError(b, err)
	lite := driver == "sqlite"
	own := map[string]string{
		"session_id": "'s' || n", "run_id": "'r' || n", "handle": "'h' || n", "active_run_id": "'r' || n",
		"principal": "'p' || (n % 100)", "submitted_at_ms": "submitted_at_ms + n",
	}
	fill(b, driver, name, copied(columns.Sessions, lite, count, own))
	fill(b, driver, name, copied(columns.Runs, lite, count, own))
	fill(b, driver, name, copied(columns.Requests, lite, count, own))
}

// BenchmarkBacklogs counts the pending work of principals, among 1,000,000 open requests (20,000
// with -short).
func BenchmarkBacklogs(b *testing.B) {
	count := rows(1_000_000)
	measure := func(b *testing.B, count func() ([]model.Backlog, error)) {
		b.Helper()
		for b.Loop() {
			found, err := count()
			require.NoError(b, err)
			require.Len(b, found, 101)
		}
	}
	b.Run("postgres", func(b *testing.B) {
		url := postgrestest.URL(b)
		store, err := postgres.Open(b.Context(), url, postgres.Options{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, store.Close()) })
		waiting(b, store, "pgx", url, count)
		fill(b, "pgx", url, "VACUUM (ANALYZE)")
		measure(b, func() ([]model.Backlog, error) { return store.Backlogs(b.Context()) })
	})
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, store.Close()) })
		waiting(b, store, "sqlite", "file:"+path+"?_synchronous=OFF&_busy_timeout=5000&_pragma=cache_size(-1000000)", count)
		measure(b, func() ([]model.Backlog, error) { return store.Backlogs(b.Context()) })
	})
}
