package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// A session whose active run is over is found, and the sweep's command about it frees the slot.
func TestAWedgedSessionIsFoundAndMended(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	for _, sessionID := range []string{"a", "b", "c"} {
		create := &runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: "over-" + sessionID, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}}
		do(t, s, create)
		do(t, s, &runs.Complete{RunID: create.RunID, Fence: 1})
		do(t, s, &runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: "next-" + sessionID, Input: api.JSON(`1`)})
	}
	wedged, next, err := s.WedgedSessions(ctx, "", 10)
	require.NoError(t, err)
	require.Empty(t, wedged)
	require.Empty(t, next)
	_, err = s.reads.Exec(ctx, `UPDATE sessions SET active_run_id = 'over-' || session_id WHERE session_id <> 'a'`)
	require.NoError(t, err)
	_, err = s.reads.Exec(ctx, `UPDATE runs SET claimable_at_ms = NULL WHERE status = 'queued' AND session_id <> 'a'`)
	require.NoError(t, err)
	claimable, err := s.Claimable(ctx, reads.ClaimableQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, claimable, 1)

	wedged, next, err = s.WedgedSessions(ctx, "", 2)
	require.NoError(t, err)
	require.Equal(t, []reads.DueRun{{SessionID: "b", RunID: "over-b"}}, wedged)
	require.Equal(t, "b", next)
	rest, next, err := s.WedgedSessions(ctx, next, 2)
	require.NoError(t, err)
	require.Equal(t, []reads.DueRun{{SessionID: "c", RunID: "over-c"}}, rest)
	require.Empty(t, next)
	for _, one := range append(wedged, rest...) {
		do(t, s, &runs.ExpireRequests{SessionID: one.SessionID, RunID: one.RunID})
	}
	wedged, _, err = s.WedgedSessions(ctx, "", 10)
	require.NoError(t, err)
	require.Empty(t, wedged)
	claimable, err = s.Claimable(ctx, reads.ClaimableQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, claimable, 3)
	for _, run := range claimable {
		do(t, s, &runs.ClaimRun{RunID: run.RunID, WorkerID: "w"})
	}
}
