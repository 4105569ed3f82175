package storebench

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// manySessions returns the SQL that creates 1,000,000 sessions (20,000 with -short), ten of
// which changed recently.
func manySessions() string {
	count := rows(1_000_000)
	return fmt.Sprintf(`WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < %d)
	INSERT INTO sessions (session_id, agent_id, queued_count, last_event_id, created_at_ms, updated_at_ms, last_event_hash)
	SELECT 'session_' || n, 'coder', 0, 9, 1, CASE WHEN n %% %d = 0 THEN 2000 ELSE 1 END, '0123456789012345678901234567890123456789012345678901234567890123' FROM counted`, count, count/10)
}

// BenchmarkHeads measures the search for changed sessions, which each replica makes every ten
// minutes.
func BenchmarkHeads(b *testing.B) {
	measure := func(b *testing.B, rows audit.CheckpointRows) {
		b.Helper()
		for _, since := range []int64{1000, 0} {
			b.Run(fmt.Sprintf("since=%d", since), func(b *testing.B) {
				for b.Loop() {
					begun, found, after, slowest := time.Now(), 0, "", time.Duration(0)
					for {
						one := time.Now()
						page, err := rows.HeadsSince(b.Context(), since, after, 1000)
						require.NoError(b, err)
						slowest = max(slowest, time.Since(one))
						if found += len(page); len(page) < 1000 {
							break
						}
						after = page[len(page)-1].SessionID
					}
					b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms/search")
					b.ReportMetric(float64(slowest.Milliseconds()), "ms/page")
					b.ReportMetric(float64(found), "heads")
				}
			})
		}
	}
	b.Run("postgres", func(b *testing.B) {
		url := postgrestest.URL(b)
		store, err := postgres.Open(b.Context(), url, postgres.Options{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, store.Close()) })
		fill(b, "pgx", url, manySessions())
		fill(b, "pgx", url, "VACUUM (ANALYZE) sessions")
		measure(b, store)
	})
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		require.NoError(b, err)
		require.NoError(b, store.Close())
		fill(b, "sqlite", path, manySessions())
		store, err = sqlite.Open(b.Context(), path, sqlite.Options{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, store.Close()) })
		measure(b, store)
	})
}
