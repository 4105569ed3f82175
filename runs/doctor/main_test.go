package doctor_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

func TestMain(m *testing.M) {
	read.Timeout = time.Minute
	goleak.VerifyTestMain(postgrestest.Wrap(m))
}

// database is a fresh database of one engine.
type database struct {
	store runs.Store
	// sql bypasses the store.
	sql *sql.DB
	// inspector reads like "holdpoint doctor".
	inspector model.Walker
}

// engines open a fresh database each.
var engines = map[string]func(t *testing.T) database{
	"sqlite": func(t *testing.T) database {
		path := filepath.Join(t.TempDir(), "holdpoint.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		require.NoError(t, err)
		inspector, err := sqlite.OpenInspector(t.Context(), path)
		require.NoError(t, err)
		return opened(t, store, "sqlite", "file:"+path+"?_busy_timeout=5000", inspector)
	},
	"postgres": func(t *testing.T) database {
		url := postgrestest.URL(t)
		store, err := postgres.Open(t.Context(), url, postgres.Options{})
		require.NoError(t, err)
		inspector, err := postgres.OpenInspector(t.Context(), url)
		require.NoError(t, err)
		return opened(t, store, "pgx", url, inspector)
	},
}

func opened(t *testing.T, store runs.Store, driver, source string, inspector interface {
	model.Walker
	Close() error
},
) database {
	t.Helper()
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, inspector.Close())
		require.NoError(t, store.Close())
	})
	return database{store: store, sql: db, inspector: inspector}
}

// examine returns the doctor's findings, without the details.
func examine(t *testing.T, walker model.Walker) ([]doctor.Finding, doctor.Summary) {
	t.Helper()
	var found []doctor.Finding
	summary, err := doctor.Examine(context.WithoutCancel(t.Context()), walker, func(finding doctor.Finding) {
		require.NotEmpty(t, finding.Detail)
		found = append(found, finding)
	})
	require.NoError(t, err)
	require.Equal(t, int64(len(found)), summary.Count())
	require.Equal(t, len(found) == 0, summary.Healthy())
	return found, summary
}
