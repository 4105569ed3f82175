package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// TestBatches compares the engine with the model when many commands share one
// transaction.
func TestBatches(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	store, err := Open(t.Context(), url, Options{NoListen: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	db := stdlib.OpenDBFromPool(store.reads)
	defer db.Close()
	steps := rapid.SliceOfN(rapid.SliceOfN(storetest.Seeds, 1, 8), 5, 15)
	examples := 0
	rapid.Check(t, func(rt *rapid.T) {
		if examples++; !storetest.Thorough && examples > 25 {
			return
		}
		_, err := db.ExecContext(t.Context(), `TRUNCATE sessions, runs, requests, events, idempotency_records, effects, messages, rules`)
		require.NoError(t, err)
		batches := storetest.NewBatches(&engine{lanes: store.lanes, reads: store.reads})
		for _, seeds := range steps.Draw(rt, "steps") {
			nowMs, err := store.NowMs(t.Context())
			require.NoError(t, err)
			difference, err := batches.Step(t.Context(), seeds, nowMs)
			if err != nil || difference != "" {
				rt.Fatalf("%v\n%s", err, difference)
			}
			if difference := storetest.Diff(batches.Tables(t), storetest.ReadTables(t, db)); difference != "" {
				rt.Fatalf("the rows differ (-model +engine):\n%s", difference)
			}
		}
	})
}

func TestABatchLeavesNoRunOfAnEndedSession(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), postgrestest.URL(t), Options{NoListen: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	storetest.RequireWholeDrains(t, store, &engine{lanes: store.lanes, reads: store.reads})
}
