package database

import (
	"bytes"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// TestRefusedRunsAreListedAndRetriedOrDropped: of another program's transaction.
func TestRefusedRunsAreListedAndRetriedOrDropped(t *testing.T) {
	t.Parallel()
	flag := Flag{Database: postgrestest.URL(t)}
	opened, err := store.Open(t.Context(), flag.Database, store.Options{})
	require.NoError(t, err)
	db, err := sql.Open("pgx", flag.Database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), `
INSERT INTO run_intake (created_at_ms, due_at_ms, attempts, intake_id, run_id, session_id, state, last_error, body) VALUES
	(1, NULL, 1, 'intake-1', 'run-1', 's', 'failed', 'session_ended: the session has ended', '{}'),
	(2, NULL, 20, 'intake-2', 'run-2', '', 'failed', 'x', '{}'),
	(3, 3, 0, 'intake-3', 'run-3', '', 'pending', NULL, '{}')`)
	require.NoError(t, err)

	counted, err := opened.Vitals(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, model.Tally{Count: 1, OldestMs: 3}, counted.Intake)
	require.Equal(t, model.Tally{Count: 2, OldestMs: 1}, counted.RefusedRuns)
	require.NoError(t, opened.Close())

	var out, errs bytes.Buffer
	terminal := console.New(func(string) (string, bool) { return "", false }, nil, &out, &errs)
	list := func() string {
		out.Reset()
		require.NoError(t, (&intakeList{Flag: flag}).Run(t.Context(), terminal))
		return out.String()
	}
	require.Regexp(t, `intake-1 +run-1 +s +.* 1 +session_ended: the session has ended\n`, list())
	require.Contains(t, list(), "intake-2")
	require.NotContains(t, list(), "intake-3", "it is not refused")

	change := func(id string) refusedChange { return refusedChange{Flag: flag, IntakeIDs: []string{id}} }
	require.NoError(t, (&intakeRetry{change("intake-1")}).Run(t.Context(), terminal))
	require.NoError(t, (&intakeDrop{change("intake-2")}).Run(t.Context(), terminal))
	require.NotContains(t, list(), "intake-")
	require.EqualError(t, (&intakeDrop{change("intake-1")}).Run(t.Context(), terminal), `no refused run "intake-1"`)
	require.Error(t, (&intakeDrop{refusedChange{Flag: flag}}).Run(t.Context(), terminal), "nothing is named")
	var left string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT string_agg(run_id || ' ' || state, ',' ORDER BY run_id) FROM run_intake`).Scan(&left))
	require.Equal(t, "run-1 pending,run-3 pending", left)
}
