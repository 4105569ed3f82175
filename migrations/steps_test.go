package migrations_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/migrations"
)

// withExample returns the steps of both engines, with the example after the last one. It stands for
// the next step, so that the way from one version to another is tested while there is only a baseline.
func withExample(t *testing.T) fstest.MapFS {
	t.Helper()
	steps := fstest.MapFS{}
	for engine := range engines {
		names, err := fs.Glob(migrations.Files, string(engine)+"/*.sql")
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, name := range names {
			text, err := fs.ReadFile(migrations.Files, name)
			require.NoError(t, err)
			steps[name] = &fstest.MapFile{Data: text}
		}
		var newest int
		_, err = fmt.Sscanf(path.Base(slices.Max(names)), "%d_", &newest)
		require.NoError(t, err)
		text, err := os.ReadFile(path.Join("testdata/next", string(engine), "example.sql"))
		require.NoError(t, err)
		steps[fmt.Sprintf("%s/%05d_example.sql", engine, newest+1)] = &fstest.MapFile{Data: text}
	}
	return steps
}

// baseline returns the first step of both engines.
func baseline(t *testing.T) fs.FS {
	t.Helper()
	steps := fstest.MapFS{}
	for name, file := range withExample(t) {
		if path.Base(name) == "00001_baseline.sql" {
			steps[name] = file
		}
	}
	require.Len(t, steps, len(engines))
	return steps
}

func TestUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	for engine, open := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := open(t)()
			m, err := migrations.NewOf(db, engine, withExample(t))
			require.NoError(t, err)

			current, newest, err := m.Versions(ctx)
			require.NoError(t, err)
			require.Zero(t, current)
			require.Positive(t, newest)
			require.ErrorIs(t, m.Check(ctx), migrations.ErrSchemaBehind)
			known, err := m.Status(ctx)
			require.NoError(t, err)
			require.Greater(t, len(known), 1)

			for range 2 {
				applied, err := m.Up(ctx)
				require.NoError(t, err)
				require.Len(t, applied, len(known))
				require.NoError(t, m.Check(ctx))
				again, err := m.Up(ctx)
				require.NoError(t, err)
				require.Empty(t, again)

				steps, err := m.Status(ctx)
				require.NoError(t, err)
				require.Len(t, steps, len(known))
				require.False(t, steps[0].AppliedAt.IsZero())

				for _, there := range slices.Backward(known) {
					step, err := m.Down(ctx)
					require.NoError(t, err)
					require.Equal(t, there.Version, step.Version)
				}
				step, err := m.Down(ctx)
				require.NoError(t, err)
				require.Zero(t, step.Version)
				require.ErrorIs(t, m.Check(ctx), migrations.ErrSchemaBehind)
				require.Empty(t, schemaOf(t, db, engine), "the way back leaves nothing")
			}
		})
	}
}

// empty are steps that change only the other engine's schema.
var empty = map[string]bool{"sqlite/00003_run_intake.sql": true, "sqlite/00011_refused_runs.sql": true}

// Each step after the baseline, taken back, leaves the schema that it found, and the rows.
func TestAStepBackLeavesTheSchemaBefore(t *testing.T) {
	t.Parallel()
	for engine, open := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := open(t)()
			all := withExample(t)
			names, err := fs.Glob(all, string(engine)+"/*.sql")
			require.NoError(t, err)
			known := fstest.MapFS{}
			var before []string
			for i, name := range names {
				known[name] = all[name]
				m, err := migrations.NewOf(db, engine, known)
				require.NoError(t, err)
				applied, err := m.Up(ctx)
				require.NoError(t, err)
				require.Len(t, applied, 1)
				if i == 0 {
					for _, statement := range admitted[engine] {
						_, err := db.ExecContext(ctx, statement)
						require.NoError(t, err, statement)
					}
					before = schemaOf(t, db, engine)
					continue
				}
				after := schemaOf(t, db, engine)
				require.Equal(t, empty[name], slices.Equal(before, after), name)
				step, losses, err := m.Losses(ctx)
				require.NoError(t, err)
				require.Equal(t, applied[0].Version, step.Version)
				if i == len(names)-1 {
					require.Equal(t, []migrations.Loss{{Table: "sessions", Column: "example", Rows: 1}}, losses)
				}
				_, err = m.Down(ctx)
				require.NoError(t, err)
				require.Equal(t, before, schemaOf(t, db, engine), name)
				_, err = m.Up(ctx)
				require.NoError(t, err)
				require.Equal(t, after, schemaOf(t, db, engine), name)
				before = after
			}
			var rows int
			require.NoError(t, db.QueryRowContext(ctx, "SELECT count(*) FROM sessions WHERE example = 1").Scan(&rows))
			require.Equal(t, 1, rows, "the session is there, and the backfill has reached it")
		})
	}
}

func TestAnEmptyTextIsNoLoss(t *testing.T) {
	t.Parallel()
	for engine, open := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := open(t)()
			m, err := migrations.NewOf(db, engine, fstest.MapFS{
				string(engine) + "/00001_things.sql": {Data: []byte("-- +goose Up\nCREATE TABLE things (id bigint PRIMARY KEY);\n-- +goose Down\nDROP TABLE things;\n")},
				string(engine) + "/00002_names.sql": {Data: []byte("-- +goose Up\nALTER TABLE things ADD COLUMN name text NOT NULL DEFAULT '';\nALTER TABLE things ADD COLUMN amount bigint;\n" +
					"-- +goose Down\nALTER TABLE things DROP COLUMN name;\nALTER TABLE things DROP COLUMN amount;\n")},
			})
			require.NoError(t, err)
			_, err = m.Up(ctx)
			require.NoError(t, err)
			_, err = db.ExecContext(ctx, "INSERT INTO things (id, name, amount) VALUES (1, '', NULL), (2, 'two', 0), (3, '', 3)")
			require.NoError(t, err)
			_, losses, err := m.Losses(ctx)
			require.NoError(t, err)
			require.Equal(t, []migrations.Loss{{Table: "things", Column: "name", Rows: 1}, {Table: "things", Column: "amount", Rows: 2}}, losses)
		})
	}
}

// unreleased is what tells a database of a development version: goose's default table, with numbers
// of steps that no longer exist, and a table of the first of them.
var unreleased = []string{
	"CREATE TABLE goose_db_version (version_id bigint NOT NULL, is_applied boolean NOT NULL)",
	"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, true), (1, true), (51, true)",
	"CREATE TABLE idempotency_records (run_id text NOT NULL)",
}

func TestADatabaseFromBeforeTheFirstReleaseIsRefused(t *testing.T) {
	t.Parallel()
	for engine, open := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := open(t)()
			for _, statement := range unreleased {
				_, err := db.ExecContext(ctx, statement)
				require.NoError(t, err)
			}
			before := schemaOf(t, db, engine)
			m, err := migrations.New(db, engine, nil)
			require.NoError(t, err)
			for name, call := range map[string]func() error{
				"check":    func() error { return m.Check(ctx) },
				"up":       func() error { _, err := m.Up(ctx); return err },
				"down":     func() error { _, err := m.Down(ctx); return err },
				"status":   func() error { _, err := m.Status(ctx); return err },
				"versions": func() error { _, _, err := m.Versions(ctx); return err },
				"losses":   func() error { _, _, err := m.Losses(ctx); return err },
			} {
				err := call()
				require.ErrorIs(t, err, migrations.ErrSchemaUnreleased, name)
				require.ErrorContains(t, err, "audit export", name)
				require.ErrorContains(t, err, "docs/upgrade.md", name)
			}
			require.Equal(t, before, schemaOf(t, db, engine), "nothing is created")
		})
	}
}

// Another program may use goose in the same database.
func TestAnotherProgramsVersionsAreNoObstacle(t *testing.T) {
	t.Parallel()
	for engine, open := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			db := open(t)()
			for _, statement := range unreleased[:2] {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			m, err := migrations.New(db, engine, nil)
			require.NoError(t, err)
			_, err = m.Up(t.Context())
			require.NoError(t, err)
			require.NoError(t, m.Check(t.Context()))
		})
	}
}
