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

func TestEarlierIntakeRowsOfASession(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	intake := intakeOf(t, "a", "b", "c", "d")
	earlier := func(rows ...upkeep.IntakeRow) map[string]string {
		t.Helper()
		earlier, err := intake.Earlier(ctx, rows)
		require.NoError(t, err)
		return earlier
	}
	first, err := intake.Take(ctx, 2, 60_000)
	require.NoError(t, err)
	require.Len(t, first, 2)
	second := taken(t, intake, 10)
	require.Len(t, second, 2)
	require.Equal(t, map[string]string{"s": "a"}, earlier(second...), "while another replica has it")
	require.Empty(t, earlier(first...), "the later ones do not count")
	require.Equal(t, map[string]string{"s": "b"}, earlier(first[0], second[1]))
	require.Empty(t, earlier(upkeep.IntakeRow{IntakeID: "z", SessionID: "other"}, upkeep.IntakeRow{IntakeID: "zz"}))

	require.NoError(t, intake.MakeDue(ctx, []string{"c", "d"}, 60_000))
	require.Empty(t, taken(t, intake, 10))
	require.NoError(t, intake.MakeDue(ctx, []string{"c", "d"}, -1))
	require.Equal(t, second, taken(t, intake, 10))

	require.NoError(t, intake.Finish(ctx, []string{"a"}))
	require.Equal(t, map[string]string{"s": "b"}, earlier(second...))
	require.NoError(t, intake.Postpone(ctx, "b", "full", 60_000))
	require.Empty(t, earlier(second...), "one that has to be tried again keeps no other waiting")
}
