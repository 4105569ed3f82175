package dialecttest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Database is a test's empty database.
type Database struct {
	engine, address string
	// reopened says that the database must outlive a store.
	reopened bool
}

// OnEngines runs a test on an empty database of each engine, next to others.
func OnEngines(t *testing.T, test func(t *testing.T, database *Database)) {
	t.Helper()
	t.Parallel()
	for engine, address := range map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), "holdpoint.db") },
		"postgres": func(tb testing.TB) string { tb.Helper(); return postgrestest.URL(tb) },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, &Database{engine: engine, address: address(t)})
		})
	}
}

// Reopen opens the database and keeps its data for a later Open or Reopen. The caller closes the
// store.
func (d *Database) Reopen(tb testing.TB) runs.Store {
	tb.Helper()
	d.reopened = true
	return d.open(tb)
}

func (d *Database) open(tb testing.TB) runs.Store {
	tb.Helper()
	var store runs.Store
	var err error
	if d.engine == "sqlite" {
		store, err = sqlite.Open(context.Background(), d.address, sqlite.Options{})
	} else {
		store, err = postgres.Open(context.Background(), d.address, postgres.Options{})
	}
	require.NoError(tb, err)
	return store
}

// Open opens the database for the rest of the test. SQLite is in memory unless Reopen was called
// before.
func (d *Database) Open(tb testing.TB) runs.Store {
	tb.Helper()
	if d.engine == "sqlite" && !d.reopened {
		return SQLite(tb)
	}
	return closed(tb, d.open(tb))
}

// Replicas opens the database twice for the rest of the test. On SQLite, which supports one
// process, both are the same store.
func (d *Database) Replicas(tb testing.TB) (first, second runs.Store) {
	tb.Helper()
	first = d.Open(tb)
	if d.engine == "sqlite" {
		return first, first
	}
	return first, d.Open(tb)
}

// SQLite opens an empty in-memory database for the rest of the test.
func SQLite(tb testing.TB) runs.Store {
	tb.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
	require.NoError(tb, err)
	return closed(tb, store)
}

func closed(tb testing.TB, store runs.Store) runs.Store {
	tb.Helper()
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}
