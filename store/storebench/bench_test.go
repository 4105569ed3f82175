// Package storebench measures the door of both engines in process: group commit compared
// with one transaction per command, in one run. Results and conditions are in
// docs/benchmarks.md.
package storebench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// callers are the numbers of concurrent goroutines.
var callers = []int{1, 8, 64}

// ways are the two ways to run commands: together, or each alone, with one connection per caller.
var ways = []struct {
	name    string
	options door.Options
}{
	{"group", door.Options{}},
	{"plain", door.Options{MaxBatch: 1, Lanes: 64}},
}

// BenchmarkDoor sends whole cycles through the door: a run is created, claimed and suspended in
// one command, its approval is resolved, it is claimed again and completed. One iteration is one
// command.
func BenchmarkDoor(b *testing.B) {
	for _, way := range ways {
		for _, count := range callers {
			b.Run(fmt.Sprintf("postgres/%s/callers=%d", way.name, count), func(b *testing.B) {
				url := postgrestest.URL(b, postgrestest.Durable())
				store, err := postgres.Open(b.Context(), url, postgres.Options{Door: way.options})
				require.NoError(b, err)
				defer func() { require.NoError(b, store.Close()) }()
				cycles(b, store, count)
			})
		}
	}
	for _, way := range ways {
		for _, count := range callers {
			b.Run(fmt.Sprintf("sqlite/%s/callers=%d", way.name, count), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "bench.db")
				store, err := sqlite.Open(b.Context(), path, sqlite.Options{Door: way.options})
				require.NoError(b, err)
				defer func() { require.NoError(b, store.Close()) }()
				cycles(b, store, count)
			})
		}
	}
}

const commandsPerCycle = 4

func cycles(b *testing.B, store runs.Store, count int) {
	b.ReportAllocs()
	var done atomic.Int64
	b.ResetTimer()
	started := time.Now()
	group, ctx := errgroup.WithContext(b.Context())
	for range count {
		group.Go(func() error {
			for done.Add(commandsPerCycle) <= int64(b.N)+commandsPerCycle {
				if err := cycle(ctx, store); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "commands/s")
}

// cycle is one wait of one run, in four commands.
func cycle(ctx context.Context, store runs.Store) error {
	made, err := store.Do(ctx, &runs.CreateRun{
		Input: api.JSON(`{"plan":"clean the build folder"}`),
		Claim: &api.ClaimOptions{WorkerID: "bench"},
		Suspend: &api.Suspension{
			Checkpoint: api.JSON(`{"step":3}`),
			Approvals: []api.ApprovalRequest{{
				ID: "approval-1", ToolCallID: "call-1", ToolName: "bash",
				Input: api.JSON(`{"command":"rm -rf build"}`), Reason: "shell command",
			}},
		},
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	run := made.Run.Run
	_, err = store.Do(ctx, &runs.ResolveApprovals{
		RunID:       run.RunID,
		Resolutions: []runs.ApprovalDecision{{RequestID: "approval-1", Behavior: api.BehaviorAllow}},
		Key:         run.RunID,
	})
	if err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	claimed, err := store.Do(ctx, &runs.ClaimRun{RunID: run.RunID, WorkerID: "bench"})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	_, err = store.Do(ctx, &runs.Complete{RunID: run.RunID, Fence: claimed.Run.Run.Fence, Output: api.JSON(`{"ok":true}`)})
	if err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return nil
}
