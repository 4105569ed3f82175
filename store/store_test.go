package store_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "holdpoint.db", "mysql://u:secret@h/db", "sqlite:", "sqlite://", "sqlite:a.db?mode=ro", "sqlite::shared:",
		"sqlite:a.db\n", "sqlite: a.db", "sqlite:a.db ", "sqlite:a\tb.db", "sqlite::memory:\n",
		"postgres:", "postgres:secret", "postgres://u:secret%zz@h/db", "postgres://u:secret@h:port/db",
	} {
		_, err := store.Open(t.Context(), url, store.Options{})
		require.ErrorIs(t, err, store.ErrURL, url)
		require.NotContains(t, err.Error(), "secret")
		require.ErrorIs(t, store.Migrate(t.Context(), url, nil), store.ErrURL, url)
		require.NotContains(t, store.Describe(url), "secret")
		require.False(t, store.IsServer(url))
	}
	require.True(t, store.IsServer("postgres://u:secret@h/db"))
	require.False(t, store.IsServer("sqlite:"+filepath.Join(t.TempDir(), "file.db")))
}

func TestUnreachablePostgresKeepsThePassword(t *testing.T) {
	t.Parallel()
	url := "postgres://someone:secret@/nothing?host=" + t.TempDir() + "&password=secret"
	_, err := store.Open(t.Context(), url, store.Options{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	require.NotContains(t, store.Describe(url), "secret")
	require.Contains(t, store.Describe(url), "someone")
}

func TestOpenAndMigrate(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "some file%.db") },
		"postgres": func() string { return postgrestest.URL(t, postgrestest.Empty()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := url()
			_, err := store.Open(t.Context(), at, store.Options{KeepSchema: true})
			require.ErrorIs(t, err, migrations.ErrSchemaBehind)

			var steps []migrations.Migration
			up := func(m *migrations.Migrator) error {
				var err error
				steps, err = m.Up(t.Context())
				return err
			}
			require.NoError(t, store.Migrate(t.Context(), at, up))
			require.NotEmpty(t, steps)
			opened, err := store.Open(t.Context(), at, store.Options{KeepSchema: true})
			require.NoError(t, err)
			require.NoError(t, opened.Ready(t.Context()))
			_, err = opened.Do(t.Context(), &runs.CreateSession{SessionID: "s"})
			require.NoError(t, err)
			require.NoError(t, opened.Close())

			down := func(m *migrations.Migrator) error {
				for {
					step, err := m.Down(t.Context())
					if err != nil || step.Version == 0 {
						return err
					}
				}
			}
			require.NoError(t, store.Migrate(t.Context(), at, down))
			opened, err = store.Open(t.Context(), at, store.Options{})
			require.NoError(t, err, "forward again")
			_, err = opened.Session(t.Context(), "s")
			require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err))
			require.NoError(t, opened.Close())
		})
	}
}

// A database from before the first release is refused by everything that opens one, with advice.
func TestADatabaseFromBeforeTheFirstReleaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(t *testing.T) (url string, db *sql.DB){
		"sqlite": func(t *testing.T) (string, *sql.DB) {
			path := filepath.Join(t.TempDir(), "holdpoint.db")
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			return "sqlite:" + path, db
		},
		"postgres": func(t *testing.T) (string, *sql.DB) {
			url := postgrestest.URL(t, postgrestest.Empty())
			db, err := postgres.OpenDB(url)
			require.NoError(t, err)
			return url, db
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := create(t)
			for _, statement := range []string{
				"CREATE TABLE goose_db_version (version_id bigint NOT NULL, is_applied boolean NOT NULL)",
				"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, true), (1, true), (51, true)",
				"CREATE TABLE idempotency_records (run_id text NOT NULL)",
			} {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			require.NoError(t, db.Close())
			refused := func(err error) {
				t.Helper()
				require.ErrorIs(t, err, migrations.ErrSchemaUnreleased)
				require.Equal(t, 1, strings.Count(err.Error(), "start with a new database"), err)
			}
			_, err := store.Open(t.Context(), url, store.Options{})
			refused(err)
			_, err = store.Open(t.Context(), url, store.Options{KeepSchema: true})
			refused(err)
			_, err = store.Inspect(t.Context(), url)
			refused(err)
			_, err = store.SchemaStatus(t.Context(), url)
			refused(err)
			refused(store.Migrate(t.Context(), url, func(m *migrations.Migrator) error {
				_, err := m.Up(t.Context())
				return err
			}))
		})
	}
}

// A program that runs continues on a newer schema, but none starts on one.
func TestANewerSchemaIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(t *testing.T) (url string, connect func() (*sql.DB, error)){
		"sqlite": func(t *testing.T) (string, func() (*sql.DB, error)) {
			path := filepath.Join(t.TempDir(), "holdpoint.db")
			return "sqlite:" + path, func() (*sql.DB, error) { return sql.Open("sqlite", path) }
		},
		"postgres": func(t *testing.T) (string, func() (*sql.DB, error)) {
			url := postgrestest.URL(t)
			return url, func() (*sql.DB, error) { return postgres.OpenDB(url) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, connect := create(t)
			opened, err := store.Open(t.Context(), url, store.Options{})
			require.NoError(t, err)
			db, err := connect()
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), "INSERT INTO "+migrations.Table+" (version_id, is_applied) VALUES (99999, true)")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.NoError(t, opened.Ready(t.Context()))
			require.NoError(t, opened.Close())

			for _, keep := range []bool{false, true} {
				_, err = store.Open(t.Context(), url, store.Options{KeepSchema: keep})
				require.ErrorIs(t, err, migrations.ErrSchemaAhead)
			}
			_, err = store.Inspect(t.Context(), url)
			require.ErrorIs(t, err, migrations.ErrSchemaAhead)
		})
	}
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	first, err := store.Open(t.Context(), "sqlite::memory:", store.Options{NowMs: func() int64 { return 7 }})
	require.NoError(t, err)
	second, err := store.Open(t.Context(), "sqlite:"+sqlite.Memory, store.Options{})
	require.NoError(t, err)
	reply, err := first.Do(t.Context(), &runs.CreateSession{SessionID: "s"})
	require.NoError(t, err)
	require.Equal(t, int64(7), reply.Session.CreatedAtMs)
	_, err = second.Session(t.Context(), "s")
	require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err), "each store has its own")
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
}
