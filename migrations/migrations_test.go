package migrations_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// engines opens an empty database of each engine.
var engines = map[migrations.Engine]func(t *testing.T) func() *sql.DB{
	migrations.Postgres: func(t *testing.T) func() *sql.DB {
		url := postgrestest.URL(t, postgrestest.Empty())
		return func() *sql.DB {
			config, err := pgx.ParseConfig(url)
			require.NoError(t, err)
			return closing(t, stdlib.OpenDB(*config))
		}
	},
	migrations.SQLite: func(t *testing.T) func() *sql.DB {
		path := filepath.Join(t.TempDir(), "test.db")
		return func() *sql.DB {
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			return closing(t, db)
		}
	},
}

func closing(t *testing.T, db *sql.DB) *sql.DB {
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestReplicasThatStartAtOnceDoNotTripOverEachOther(t *testing.T) {
	t.Parallel()
	open := engines[migrations.Postgres](t)
	var group sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 8 {
		m, err := migrations.New(open(), migrations.Postgres, nil)
		require.NoError(t, err)
		group.Go(func() {
			if err := m.Check(context.Background()); err != nil {
				applied, err := m.Up(context.Background())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				total += len(applied)
			}
		})
	}
	group.Wait()
	m, err := migrations.New(open(), migrations.Postgres, nil)
	require.NoError(t, err)
	require.NoError(t, m.Check(context.Background()))
	steps, err := m.Status(context.Background())
	require.NoError(t, err)
	require.Len(t, steps, total, "each step was applied once")
}

// TestTheVersionTableIsCreatedUnderTheLock: goose looks for its table, and creates it, before it takes the
// lock. Of two replicas that start on an empty database one would fail.
func TestTheVersionTableIsCreatedUnderTheLock(t *testing.T) {
	t.Parallel()
	db := engines[migrations.Postgres](t)()
	other, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer other.Close()
	_, err = other.ExecContext(t.Context(), "SELECT pg_advisory_lock($1)", migrations.AdvisoryLockID)
	require.NoError(t, err)

	m, err := migrations.New(db, migrations.Postgres, nil)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := m.Up(t.Context())
		done <- err
	}()
	const waits = "SELECT count(*) > 0, to_regclass($1) IS NOT NULL FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'"
	for waiting, created := false, false; !waiting; {
		require.NoError(t, other.QueryRowContext(t.Context(), waits, migrations.Table).Scan(&waiting, &created))
		require.False(t, created, "the table is there, and another replica has the lock")
	}
	_, err = other.ExecContext(t.Context(), "SELECT pg_advisory_unlock($1)", migrations.AdvisoryLockID)
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.NoError(t, m.Check(t.Context()))
}

func TestUnknownEngine(t *testing.T) {
	t.Parallel()
	_, err := migrations.New(nil, "oracle", nil)
	require.Error(t, err)
	_, err = migrations.Digest("oracle")
	require.Error(t, err)
}

func TestDigestsDiffer(t *testing.T) {
	t.Parallel()
	postgres, err := migrations.Digest(migrations.Postgres)
	require.NoError(t, err)
	sqlite, err := migrations.Digest(migrations.SQLite)
	require.NoError(t, err)
	require.NotEqual(t, postgres, sqlite)
}
