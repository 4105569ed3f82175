package rig

import (
	"path/filepath"
	"testing"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// Engine is one of the two engines of the service.
type Engine struct {
	Name string
	// Database returns the URL of a fresh database. It skips the test when this machine has no
	// Postgres.
	Database func(tb testing.TB) string
}

// Engines are the engines, Postgres first.
var Engines = []Engine{
	{"Postgres", func(tb testing.TB) string { tb.Helper(); return postgrestest.URL(tb) }},
	{"SQLite", SQLite},
}

// SQLite returns the URL of a file that does not exist yet.
func SQLite(tb testing.TB) string {
	tb.Helper()
	return "sqlite:" + filepath.Join(tb.TempDir(), "holdpoint.db")
}

// Databases runs a test on a fresh database of each engine, next to others.
func Databases(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Parallel()
	for _, engine := range Engines {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			test(t, engine.Database(t))
		})
	}
}
