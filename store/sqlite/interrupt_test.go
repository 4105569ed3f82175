package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// endless counts endlessly before its first row.
const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`

// endlessPage finds its first row immediately and never another.
const endlessPage = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i = 1 LIMIT 2`

func one(t *testing.T, rows columns.Rows) error {
	t.Helper()
	return columns.Each(rows, func(n *int64) []any { return []any{n} }, func(n *int64) { require.EqualValues(t, 1, *n) })
}

func TestTheEndOfAContextInterruptsAQuery(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "holdpoint.db"), "memory": Memory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := Open(t.Context(), path, Options{Readers: 2})
			require.NoError(t, err)
			defer func() { require.NoError(t, store.Close()) }()
			for _, query := range []string{endless, "WITH page AS MATERIALIZED (" + endlessPage + ") SELECT * FROM page"} {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				err = store.reads.Snapshot(ctx, func(ask func(...read.Query) error) error {
					return ask(read.Query{SQL: query, Read: func(rows columns.Rows) error { return one(t, rows) }})
				})
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NoError(t, store.Ready(t.Context()))
			}
		})
	}
}

// Contexts end at any point of short statements, and never interrupt the connection's next user.
func TestAnInterruptHitsNobodyElse(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Memory, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	ask := func(ctx context.Context) error {
		return store.reads.Ask(ctx, read.Query{SQL: "SELECT 1", Read: func(rows columns.Rows) error { return one(t, rows) }})
	}
	for n := range 3000 {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			for range n % 300 {
				_ = ctx.Err()
			}
			cancel()
		})
		if err := ask(ctx); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.NoError(t, ask(t.Context()))
		group.Wait()
	}
}
