package sqlite

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// TestBatches compares the engine with the model when many commands share one
// transaction.
func TestBatches(t *testing.T) {
	t.Parallel()
	steps := rapid.SliceOfN(rapid.SliceOfN(storetest.Seeds, 1, 8), 5, 15)
	rapid.Check(t, func(rt *rapid.T) {
		clock := storetest.NewClock()
		store, err := Open(t.Context(), Memory, Options{NowMs: clock.NowMs})
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		batches := storetest.NewBatches(&engine{store: store})
		for _, seeds := range steps.Draw(rt, "steps") {
			clock.Advance(storetest.Pause(seeds[0]))
			difference, err := batches.Step(t.Context(), seeds, clock.NowMs())
			if err != nil || difference != "" {
				rt.Fatalf("%v\n%s", err, difference)
			}
			if difference := storetest.Diff(batches.Tables(t), tablesOf(t, store)); difference != "" {
				rt.Fatalf("the rows differ (-model +engine):\n%s", difference)
			}
		}
	})
}

// tablesOf reads past the store, on its own connection: nobody else sees a database
// in memory.
func tablesOf(t *testing.T, store *Store) storetest.Tables {
	t.Helper()
	c, err := store.writers.take(t.Context())
	require.NoError(t, err)
	defer store.writers.put(c)
	tables := storetest.ReadTables(t, c.conn)
	byID := map[string]storetest.Row{}
	for _, run := range tables["runs"] {
		byID[run["run_id"].(string)] = run
	}
	for _, payload := range storetest.ReadRows(t, c.conn, "SELECT * FROM run_payloads") {
		byID[payload["run_id"].(string)][payload["member"].(string)] = payload["value"]
	}
	return tables
}

// TestNoStatementScansATable looks at the plan of every statement that a day's work
// has prepared. The lists of everything may walk an index from its end.
func TestNoStatementScansATable(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "holdpoint.db"), Options{NowMs: clock.NowMs, Readers: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	batches := storetest.NewBatches(&engine{store: store})
	for step := range uint64(200) {
		clock.Advance(storetest.Pause(step))
		difference, err := batches.Step(t.Context(), []uint64{4 * step, 4*step + 1, 4*step + 2, 4*step + 3}, clock.NowMs())
		require.NoError(t, err)
		require.Empty(t, difference)
	}
	ask(t, store)
	// A constant list or an index may be scanned, a table may not. Counts and filters
	// over all sessions have no index of their own.
	whole := regexp.MustCompile(`SCAN (runs|requests|events|idempotency_records|run_payloads|effects|messages|rules|ahead|newest)$`)
	for _, connections := range []*pool{store.writers, store.readers} {
		func() {
			c, err := connections.take(t.Context())
			require.NoError(t, err)
			defer connections.put(c)
			require.NotEmpty(t, c.statements)
			for query := range c.statements {
				for _, row := range storetest.ReadRows(t, c.conn, "EXPLAIN QUERY PLAN "+query, arguments(query)...) {
					require.NotRegexp(t, whole, row["detail"], query)
				}
			}
		}()
	}
}

// arguments returns as many NULLs as the query has parameters.
func arguments(query string) []any {
	distinct := map[string]bool{}
	for at, parameter := range regexp.MustCompile(`\?\d*`).FindAllString(query, -1) {
		if parameter == "?" {
			parameter += strconv.Itoa(at)
		}
		distinct[parameter] = true
	}
	return make([]any, len(distinct))
}

// ask reads what the service reads all day long.
func ask(t *testing.T, store *Store) {
	t.Helper()
	ctx := t.Context()
	for _, read := range []func() error{
		func() error { _, err := store.Session(ctx, "s-1"); return err },
		func() error { _, err := store.ClaimedRun(ctx, "r-1"); return err },
		func() error { _, err := store.Run(ctx, "r-1"); return err },
		func() error { _, _, err := store.SettledAfter(ctx, "r-1", 0); return err },
		func() error { _, err := store.SessionEvents(ctx, "s-1", 0, 10); return err },
		func() error { _, err := store.RunEvents(ctx, "r-1", 0, 10); return err },
		func() error { _, err := store.Claimable(ctx, nil, 10); return err },
		func() error { _, err := store.Claimable(ctx, []string{"a", "b"}, 10); return err },
		func() error { _, err := store.Due(ctx, 10); return err },
		func() error { _, _, err := store.NextDueAtMs(ctx); return err },
		func() error { _, err := store.DueEffects(ctx, 10); return err },
		func() error { _, err := store.Effects(ctx, runs.EffectQuery{Limit: 10}); return err },
		func() error { _, err := store.Effects(ctx, runs.EffectQuery{SessionID: "s-1", Limit: 10}); return err },
		func() error {
			_, err := store.Effects(ctx, runs.EffectQuery{State: api.EffectPending, Limit: 10})
			return err
		},
		func() error {
			_, err := store.Effects(ctx, runs.EffectQuery{
				State: api.EffectFailed, After: &runs.EffectPosition{CreatedAtMs: 1, EffectID: "e"}, Limit: 10,
			})
			return err
		},
		func() error { _, err := store.SweepIdempotency(ctx, 1, 10); return err },
		func() error { _, err := store.SessionHead(ctx, "s-1"); return err },
		func() error { _, _, err := store.RulesFor(ctx, "s-1", 10); return err },
		func() error { _, err := store.Rules(ctx, runs.RuleQuery{Limit: 10}); return err },
		func() error {
			_, err := store.Rules(ctx, runs.RuleQuery{SessionID: "s-1", After: &runs.RulePosition{CreatedAtMs: 1, RuleID: "l"}, Limit: 10})
			return err
		},
		func() error { _, err := store.Runs(ctx, runs.RunQuery{Limit: 10}); return err },
		func() error {
			_, err := store.Runs(ctx, runs.RunQuery{Limit: 10, SessionID: "s-1", Last: true})
			return err
		},
		func() error { _, err := store.Runs(ctx, runs.RunQuery{Limit: 10, PriorityActive: true}); return err },
		func() error {
			_, err := store.PendingRequests(ctx, runs.RequestQuery{Kind: model.KindApproval, Limit: 10})
			return err
		},
		func() error {
			_, err := store.PendingRequests(ctx, runs.RequestQuery{
				Kind: model.KindQuestion, SessionID: "s-1", After: &runs.RequestPosition{SessionID: "s-1", RunID: "r", RequestID: "q"}, Limit: 10,
			})
			return err
		},
	} {
		require.NoError(t, read())
	}
}
