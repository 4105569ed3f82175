package storetest_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/sqlite"
	"github.com/holdpoint/holdpoint/store/storetest"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	engine := sqliteFile
	if underRace {
		// The detector makes this engine's SQL some ten times slower, and finds races where
		// callers meet. The whole contract runs without it.
		engine.Scope = storetest.ScopeConcurrent
	}
	storetest.Run(t, engine)
}

// TestSQLiteInMemory runs the tests in which an in-memory database could differ.
func TestSQLiteInMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Engine{
		Scope: storetest.ScopeBasics,
		Fresh: func(testing.TB) storetest.Database { return sqliteDatabase(sqlite.Memory) },
	})
}

var sqliteFile = storetest.Engine{
	Durable: true,
	Fresh: func(tb testing.TB) storetest.Database {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "holdpoint.db")
		empty, err := emptySQLite()
		require.NoError(tb, err)
		require.NoError(tb, os.WriteFile(path, empty, 0o600))
		return sqliteDatabase(path)
	},
}

// emptySQLite is a database file with the schema and no rows. Migrating one takes longer than
// most tests.
var emptySQLite = sync.OnceValues(func() ([]byte, error) {
	directory, err := os.MkdirTemp("", "holdpoint-storetest-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	path := filepath.Join(directory, "holdpoint.db")
	store, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// sqliteDatabase is the path of a database.
type sqliteDatabase string

func (d sqliteDatabase) Open(tb testing.TB, options storetest.Options) runs.Store {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), string(d), sqlite.Options{NowMs: options.Clock.NowMs, Door: door.Options{NewID: options.NewID, LockWait: options.LockWait, NotifyAfter: options.NotifyAfter}})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// BreakSession implements storetest.Breaker.
func (d sqliteDatabase) BreakSession(ctx context.Context, sessionID string) (mend func() error, err error) {
	db, err := sql.Open("sqlite", "file:"+string(d)+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.session_id = '`+sessionID+`'
BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	return func() error {
		_, err := db.ExecContext(ctx, `DROP TRIGGER broken`)
		return errors.Join(err, db.Close())
	}, err
}

func (d sqliteDatabase) Tables(tb testing.TB) storetest.Tables {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+string(d)+"?_query_only=1")
	require.NoError(tb, err)
	defer db.Close()
	tables := storetest.ReadTables(tb, db)
	// Payloads of runs are in a separate table.
	byID := map[string]storetest.Row{}
	for _, run := range tables["runs"] {
		byID[run["run_id"].(string)] = run
	}
	for _, payload := range storetest.ReadRows(tb, db, "SELECT * FROM run_payloads") {
		byID[payload["run_id"].(string)][payload["member"].(string)] = payload["value"]
	}
	return tables
}
