package storebench

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// counted is a table of the numbers from 1 on, in the SQL of both engines.
const counted = `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < %d)
	INSERT INTO rules (created_at_ms, uses, session_id, rule_id, tool_name, effect, input_digest, created_by, text, match)
	SELECT n, 0, '*', 'rule_' || n, %s, 'allow', %s, 'ann', 'a rule', %s FROM counted`

// standing are the rules of all sessions that stand while runs are suspended. None
// applies, so that each suspension is matched against all that is loaded.
var standing = []struct{ name, insert string }{
	{"none", ""},
	{"patterns=10000", fmt.Sprintf(counted, 10_000, `NULL`, `NULL`, `'{"pattern_keys":["tool:' || n || '"]}'`)},
	{"globs=10000", fmt.Sprintf(counted, 10_000, `'bash'`, `NULL`, `'{"params":{"command":"git push * ' || n || '"}}'`)},
	{"digests=100000", fmt.Sprintf(counted, 100_000, `'bash'`, `'sha256:' || n`, `'{"input_digest":"sha256:' || n || '"}'`)},
}

// BenchmarkSuspend makes, claims and suspends a run with one approval in one command,
// beside standing rules. One iteration is one command.
func BenchmarkSuspend(b *testing.B) {
	const count = 64
	for _, rules := range standing {
		b.Run("postgres/rules="+rules.name, func(b *testing.B) {
			url := postgrestest.URL(b, postgrestest.Durable())
			fill(b, "pgx", url, rules.insert)
			store, err := postgres.Open(b.Context(), url, postgres.Options{})
			require.NoError(b, err)
			defer func() { require.NoError(b, store.Close()) }()
			suspensions(b, store, count)
		})
	}
	for _, rules := range standing {
		b.Run("sqlite/rules="+rules.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bench.db")
			store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
			require.NoError(b, err)
			require.NoError(b, store.Close())
			fill(b, "sqlite", path, rules.insert)
			store, err = sqlite.Open(b.Context(), path, sqlite.Options{})
			require.NoError(b, err)
			defer func() { require.NoError(b, store.Close()) }()
			suspensions(b, store, count)
		})
	}
}

func fill(b *testing.B, driver, name, insert string) {
	b.Helper()
	if insert == "" {
		return
	}
	db, err := sql.Open(driver, name)
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	_, err = db.ExecContext(b.Context(), insert)
	require.NoError(b, err)
}

func suspensions(b *testing.B, store runs.Store, count int) {
	b.ReportAllocs()
	var done atomic.Int64
	b.ResetTimer()
	started := time.Now()
	group, ctx := errgroup.WithContext(b.Context())
	for range count {
		group.Go(func() error {
			for n := done.Add(1); n <= int64(b.N); n = done.Add(1) {
				if err := suspend(ctx, store, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "commands/s")
}

func suspend(ctx context.Context, store runs.Store, n int64) error {
	made, err := store.Do(ctx, &runs.CreateRun{
		Input: api.JSON(`{"plan":"clean the build folder"}`),
		Claim: &api.ClaimOptions{WorkerID: "bench"},
		Suspend: &api.Suspension{
			Checkpoint: api.JSON(`{"step":3}`),
			Approvals: []api.ApprovalRequest{{
				ID: "approval-1", ToolCallID: "call-1", ToolName: "bash", PatternKeys: []string{"bash:rm"},
				Input: api.JSON(fmt.Sprintf(`{"command":"rm -rf build-%d"}`, n)), Reason: "shell command",
			}},
		},
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if made.Run.Run.Status != api.StatusWaitingForApproval {
		return fmt.Errorf("run %s is %s", made.Run.Run.RunID, made.Run.Run.Status)
	}
	return nil
}
