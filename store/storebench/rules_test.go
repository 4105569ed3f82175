package storebench

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
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

// standing are the rules of all sessions during suspensions. None applies, so each suspension is
// matched against all loaded rules.
var standing = []struct{ name, insert string }{
	{"none", ""},
	{"patterns=10000", fmt.Sprintf(counted, 10_000, `NULL`, `NULL`, `'{"pattern_keys":["tool:' || n || '"]}'`)},
	{"globs=10000", fmt.Sprintf(counted, 10_000, `'bash'`, `NULL`, `'{"params":{"command":"git push * ' || n || '"}}'`)},
	{"digests=100000", fmt.Sprintf(counted, 100_000, `'bash'`, `'sha256:' || n`, `'{"input_digest":"sha256:' || n || '"}'`)},
}

// BenchmarkSuspendInTurns compares rules in force with none: a store of each kind, with an idle
// database, takes its turn in each round. One iteration is one round of turnCommands commands
// each. It reports the median of the rounds, the median of the ratios to none in the same round,
// and the duration of a process's first command, which reads the rules.
func BenchmarkSuspendInTurns(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		inTurns(b, func(insert string) runs.Store {
			url := postgrestest.URL(b, postgrestest.Durable())
			fill(b, "pgx", url, insert)
			fill(b, "pgx", url, "VACUUM (ANALYZE) rules")
			fill(b, "pgx", url, "CHECKPOINT")
			store, err := postgres.Open(b.Context(), url, postgres.Options{})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, store.Close()) })
			return store
		})
	})
	b.Run("sqlite", func(b *testing.B) {
		inTurns(b, func(insert string) runs.Store {
			path := filepath.Join(b.TempDir(), "bench.db")
			store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
			require.NoError(b, err)
			require.NoError(b, store.Close())
			fill(b, "sqlite", path, insert)
			store, err = sqlite.Open(b.Context(), path, sqlite.Options{})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, store.Close()) })
			return store
		})
	})
}

const turnCommands = 2000

func inTurns(b *testing.B, open func(insert string) runs.Store) {
	b.Helper()
	stores, firsts := make([]runs.Store, len(standing)), make([]time.Duration, len(standing))
	for i, rules := range standing {
		stores[i] = open(rules.insert)
		_, err := stores[i].NowMs(b.Context()) // a connection
		require.NoError(b, err)
		started := time.Now()
		require.NoError(b, suspend(b.Context(), stores[i], 0))
		firsts[i] = time.Since(started)
		_, err = turn(b, stores[i], turnCommands/4)
		require.NoError(b, err)
	}
	rates, ratios := make([][]float64, len(standing)), make([][]float64, len(standing))
	b.ResetTimer()
	for range b.N {
		for i := range standing {
			rate, err := turn(b, stores[i], turnCommands)
			require.NoError(b, err)
			rates[i] = append(rates[i], rate)
			ratios[i] = append(ratios[i], rate/rates[0][len(rates[0])-1])
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, rules := range standing {
		b.ReportMetric(median(rates[i]), rules.name+"_commands/s")
		b.ReportMetric(median(ratios[i]), rules.name+"_ratio")
		b.ReportMetric(float64(firsts[i].Microseconds())/1000, rules.name+"_first_ms")
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// turn returns the commands per second of 64 callers.
func turn(b *testing.B, store runs.Store, commands int64) (float64, error) {
	b.Helper()
	var done atomic.Int64
	started := time.Now()
	group, ctx := errgroup.WithContext(b.Context())
	for range 64 {
		group.Go(func() error {
			for n := done.Add(1); n <= commands; n = done.Add(1) {
				if err := suspend(ctx, store, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(commands) / time.Since(started).Seconds(), err
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

// suspend creates, claims and suspends a run with one approval in one command.
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
