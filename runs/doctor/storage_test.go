package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Each row is right, but the database does not find it.
func TestDamagedStorageIsFound(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/doctor.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "<!-- test:claimable -->\n```sql\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	repairs := map[string][]string{"sqlite": {"REINDEX"}, "postgres": strings.SplitAfter(strings.TrimSpace(block), ";")}
	for name, damage := range map[string][]string{
		"sqlite": {
			"PRAGMA writable_schema = ON",
			"CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'runs_claimable'",
			"DELETE FROM sqlite_schema WHERE name = 'runs_claimable'",
			"PRAGMA writable_schema = RESET",
			"UPDATE runs SET claimable_at_ms = 1 + claimable_at_ms WHERE run_id = 'ready'",
			"PRAGMA writable_schema = ON",
			"INSERT INTO sqlite_schema SELECT * FROM kept",
			"PRAGMA writable_schema = RESET",
			"DROP TABLE kept",
		},
		"postgres": {"DELETE FROM claimable_runs WHERE run_id = 'ready'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := engines[name](t)
			fill(t, d.store)
			found, _ := examine(t, d.inspector)
			require.Empty(t, found)
			d.sql.SetMaxOpenConns(1)
			do := func(statements []string) {
				t.Helper()
				for _, statement := range statements {
					_, err := d.sql.ExecContext(t.Context(), statement)
					require.NoError(t, err, statement)
				}
			}
			do(damage)
			found, _ = examine(t, d.inspector)
			require.NotEmpty(t, found)
			for _, finding := range found {
				require.Equal(t, doctor.StorageDamaged, finding.Code)
				require.Regexp(t, "runs_claimable|ready of session free", finding.Detail)
			}
			do(repairs[name])
			found, _ = examine(t, d.inspector)
			require.Empty(t, found)
		})
	}
}

// A page with rows that cannot be read is a finding like the others, not the end of them.
func TestUnreadablePagesAreFindings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	fill(t, store)
	require.NoError(t, store.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	at := strings.Index(string(file), `{"type":"note"}`) // an event
	require.Positive(t, at)
	page := at - at%4096
	copy(file[page:page+100], strings.Repeat("\xff", 100))
	require.NoError(t, os.WriteFile(path, file, 0o600))
	inspector, err := sqlite.OpenInspector(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, inspector.Close()) }()
	found, _ := examine(t, inspector)
	require.Greater(t, len(found), 1)
	require.Equal(t, doctor.StorageDamaged, found[len(found)-1].Code)
}

// damagedWalker finds damage, and its walk ends with an error.
type damagedWalker struct{ err error }

func (damagedWalker) CheckStorage(_ context.Context, report func(string)) error {
	report("an index lacks a row")
	return nil
}

func (w damagedWalker) Walk(context.Context, func(*model.SessionRows) error) error { return w.err }

// Of two errors after a finding, only that of damage is another finding. A lost connection says nothing about the rows.
func TestALostConnectionIsNotDamage(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	summary, err := doctor.Examine(t.Context(), damagedWalker{lost}, func(doctor.Finding) {})
	require.ErrorIs(t, err, lost)
	require.EqualValues(t, 1, summary.Count())
	summary, err = doctor.Examine(t.Context(), damagedWalker{fmt.Errorf("%w: page 7", model.ErrDamaged)}, func(doctor.Finding) {})
	require.NoError(t, err)
	require.EqualValues(t, 2, summary.Count())
}
