package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

func TestABatchLeavesNoRunOfAnEndedSession(t *testing.T) {
	t.Parallel()
	store := openInMemory(t, Options{})
	storetest.RequireWholeDrains(t, store, &engine{store: store})
}

// tablesOf bypasses the store, on its own connection: other connections do not see an in-memory
// database.
func tablesOf(t *testing.T, store *Store) storetest.Tables {
	t.Helper()
	c, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	defer store.writers.release(c)
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
