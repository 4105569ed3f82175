package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// intakeOf returns the intake of a new database, with rows of one session.
func intakeOf(t *testing.T, ids ...string) upkeep.Intake {
	t.Helper()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	for _, id := range ids {
		sql, args := s.Intake().Statement(upkeep.IntakeRow{IntakeID: id, RunID: "run-" + id, SessionID: "s"}, api.JSON(`{}`))
		_, err := s.reads.Exec(context.Background(), sql, args...)
		require.NoError(t, err)
	}
	return s.Intake()
}

// taken takes rows, which are due again at once, and returns them.
func taken(t *testing.T, intake upkeep.Intake, limit int) []upkeep.IntakeRow {
	t.Helper()
	rows, err := intake.Take(context.Background(), limit, -1)
	require.NoError(t, err)
	return rows
}

// The rows behind a locked one of their session are taken and not tried.
func TestAnIntakeRowThatIsTakenAndNotTriedHasNoAttempt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	intake := intakeOf(t, "a", "b")
	for range 20 {
		rows := taken(t, intake, 10)
		require.Len(t, rows, 2)
		require.Zero(t, rows[0].Attempts)
		require.Zero(t, rows[1].Attempts)
	}
	require.NoError(t, intake.Postpone(ctx, "a", "full", -1))
	require.NoError(t, intake.Refuse(ctx, "b", "over"))
	rows := taken(t, intake, 10)
	require.Len(t, rows, 1)
	require.EqualValues(t, 1, rows[0].Attempts)
	require.Equal(t, "full", rows[0].LastError)
	refused, err := intake.Refused(ctx, "", 10)
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.EqualValues(t, 1, refused[0].Attempts)
}
