package postgres

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// claimable_runs follows every change to a run, by the service or by a person with psql.
func TestClaimableRunsFollowTheirRuns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	matches := func(step string, count int) {
		t.Helper()
		var differences, there int
		require.NoError(t, s.reads.QueryRow(ctx, `
SELECT count(*) FILTER (WHERE (r.session_id, r.run_id, r.agent_id, r.claimable_at_ms) IS DISTINCT FROM (c.session_id, c.run_id, c.agent_id, c.claimable_at_ms)),
	count(*)
FROM (SELECT * FROM runs WHERE claimable_at_ms IS NOT NULL) AS r FULL JOIN claimable_runs AS c USING (session_id, run_id)`,
		).Scan(&differences, &there))
		require.Zero(t, differences, step)
		require.Equal(t, count, there, step)
	}
	exec := func(sql string, arguments ...any) {
		t.Helper()
		_, err := s.reads.Exec(ctx, sql, arguments...)
		require.NoError(t, err)
	}
	matches("nothing", 0)
	runID := suspended(t, s)
	matches("suspended", 0)
	do(t, s, &runs.ResolveApprovals{RunID: runID, Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}}})
	matches("decided", 1)
	claimed := do(t, s, &runs.ClaimRun{RunID: runID, WorkerID: "w"})
	require.NotNil(t, claimed.Claim)
	matches("claimed", 1)
	do(t, s, &runs.Complete{RunID: runID, Fence: 2})
	matches("completed", 0)
	queued := do(t, s, &runs.CreateRun{SessionID: "s", Input: api.JSON(`1`)}).Run.Run.RunID
	do(t, s, &runs.CreateRun{SessionID: "s", Input: api.JSON(`1`)})
	matches("queued", 1)
	exec(`UPDATE runs SET claimable_at_ms = 7 WHERE run_id = $1`, queued)
	matches("put off by hand", 1)
	exec(`UPDATE runs SET claimable_at_ms = NULL WHERE run_id = $1`, queued)
	matches("taken off by hand", 0)
	exec(`UPDATE runs SET claimable_at_ms = 8 WHERE run_id = $1`, queued)
	matches("put on by hand", 1)
	exec(`DELETE FROM runs WHERE session_id = 's'`)
	matches("deleted by hand", 0)
	do(t, s, &runs.CreateRun{Input: api.JSON(`1`)})
	matches("made", 1)
	exec(`TRUNCATE runs`)
	matches("emptied by hand", 0)
}

// The server updates a run in place only if no changed column is indexed; indexes are half the
// cost of an update. Only the end of a run, and attaching a worker, may touch one.
func TestNoIndexOfRunsHasWhatAWaitChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	// Of a wait without sensitive values data_key is NULL before and after.
	seldom := []string{"attached", "data_key"}
	rows, err := s.reads.Query(ctx, `SELECT indexdef FROM pg_indexes WHERE tablename = 'runs'`)
	require.NoError(t, err)
	defer rows.Close()
	indexes := 0
	for rows.Next() {
		var definition string
		require.NoError(t, rows.Scan(&definition))
		indexes++
		for i := range columns.Runs.Columns {
			if c := &columns.Runs.Columns[i]; c.Changes(false) && !slices.Contains(seldom, c.Name) {
				require.NotRegexp(t, `\b`+c.Name+`\b`, definition)
			}
		}
	}
	require.NoError(t, rows.Err())
	require.Positive(t, indexes)
}
