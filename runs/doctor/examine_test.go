package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// TestAWalkThatFailsIsNoCleanBill checks that an error anywhere ends the examination with an
// error.
func TestAWalkThatFailsIsNoCleanBill(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for n, streams := range []model.RowStreams{
		{Sessions: failing[model.Session](broken)},
		{Runs: failing[model.Run](broken)},
		{Sessions: one(model.Session{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Runs: one(model.Run{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Requests: one(model.Request{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Events: one(model.Event{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Records: one(model.IdempotencyRecord{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Effects: one(model.Effect{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Messages: one(model.Message{SessionID: "s"}, broken)},
		{Sessions: one(model.Session{SessionID: "s"}, nil), Rules: one(rules.Rule{SessionID: "s"}, broken)},
		{Rules: one(rules.Rule{SessionID: rules.AllSessions}, broken)},
	} {
		_, err := doctor.Examine(t.Context(), streamWalker(streams), func(doctor.Finding) {})
		require.ErrorIs(t, err, broken, "streams %d", n)
	}
}

// TestStreamsMeetBySession checks that rows of missing sessions are found wherever their id
// sorts.
func TestStreamsMeetBySession(t *testing.T) {
	t.Parallel()
	events := []model.Event{{SessionID: "a", EventID: 1}, {SessionID: "c", EventID: 1}, {SessionID: "e", EventID: 1}, {SessionID: "e", EventID: 2}}
	sessions := []model.Session{{SessionID: "b"}, {SessionID: "d"}}
	var missing []string
	summary, err := doctor.Examine(t.Context(), streamWalker{
		Sessions: each(sessions), Events: each(events),
	}, func(finding doctor.Finding) {
		require.Equal(t, doctor.SessionMissing, finding.Code)
		missing = append(missing, finding.SessionID)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "e"}, missing)
	require.Equal(t, doctor.Rows{Sessions: 2, Events: 4}, summary.Rows)
	require.Equal(t, map[doctor.Code]int64{doctor.SessionMissing: 3}, summary.Findings)
}

// TestOrphansAreCounted checks that every row of a missing session is counted, in every table.
func TestOrphansAreCounted(t *testing.T) {
	t.Parallel()
	found, summary := examine(t, streamWalker{
		Runs: one(model.Run{SessionID: "s"}, nil), Requests: one(model.Request{SessionID: "s"}, nil),
		Events: one(model.Event{SessionID: "s"}, nil), Records: one(model.IdempotencyRecord{SessionID: "s"}, nil),
		Effects: one(model.Effect{SessionID: "s"}, nil), Messages: one(model.Message{SessionID: "s"}, nil),
		Rules: one(rules.Rule{SessionID: "s"}, nil),
	})
	require.Equal(t, doctor.Rows{Runs: 1, Requests: 1, Events: 1, IdempotencyRecords: 1, Effects: 1, Messages: 1, Rules: 1}, summary.Rows)
	require.Equal(t, []doctor.Finding{{
		Code: doctor.SessionMissing, SessionID: "s",
		Detail: "the session is not there, but 1 runs, 1 requests, 1 events, 1 effects and 1 messages of it are",
	}}, found)
}

// TestAKeyMayOutliveItsSession: retention may delete a session before its keys.
func TestAKeyMayOutliveItsSession(t *testing.T) {
	t.Parallel()
	found, summary := examine(t, streamWalker{Records: one(model.IdempotencyRecord{SessionID: "s"}, nil)})
	require.Equal(t, doctor.Rows{IdempotencyRecords: 1}, summary.Rows)
	require.Empty(t, found)
}

// TestATrimmedLogHasNoOtherGap: retention deletes only the start of a log.
func TestATrimmedLogHasNoOtherGap(t *testing.T) {
	t.Parallel()
	session := model.Session{SessionID: "s", FirstKeptEventID: 5, LastEventID: 6}
	found, _ := examine(t, streamWalker{Sessions: one(session, nil), Events: one(model.Event{SessionID: "s", EventID: 6, RunID: "r"}, nil)})
	require.Equal(t, doctor.EventGap, found[0].Code)
	session.LastEventID = 4
	found, _ = examine(t, streamWalker{Sessions: one(session, nil)})
	require.Empty(t, found)
	session.LastEventID = 5
	found, _ = examine(t, streamWalker{Sessions: one(session, nil)})
	require.Equal(t, doctor.SessionLastEventWrong, found[0].Code)
}

// TestAFamilyIsWalked checks that the engines provide all rows that the checks of clarifications
// need: healthy rows have no findings, damaged ones do.
func TestAFamilyIsWalked(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			family(t, d.store)
			found, summary := examine(t, d.inspector)
			require.Empty(t, found)
			inMemory := newMemory()
			family(t, inMemory)
			_, want := examine(t, inMemory)
			require.Equal(t, want, summary)
			require.Equal(t, int64(5), summary.Rows.Sessions)
			require.NotZero(t, summary.Rows.Messages)

			codes := map[doctor.Code]int64{}
			for _, damage := range []struct {
				sql  string
				code doctor.Code
			}{
				{"UPDATE runs SET requester = '{}' WHERE run_id = (SELECT MIN(run_id) FROM runs WHERE requester IS NOT NULL)", doctor.RequesterUnreadable},
				{"UPDATE runs SET requester = '{}' WHERE run_id = 'asks'", doctor.RequesterMisplaced},
				{"DELETE FROM effects WHERE kind = 'deliver_answer' AND run_id = (SELECT MAX(run_id) FROM effects WHERE kind = 'deliver_answer')", doctor.AnswerWithoutEffect},
				{"UPDATE effects SET effect_id = 'other' WHERE run_id = 'parks'", doctor.EffectIDWrong},
				{"DELETE FROM messages WHERE message_id = 'parent-clarification-answer-told'", doctor.AnswerWithoutMessage},
				{"UPDATE messages SET subject = 'news' WHERE message_id = 'parent-clarification-answer-late'", doctor.MessageUnreadable},
			} {
				_, err := d.sql.ExecContext(t.Context(), damage.sql)
				require.NoError(t, err, damage.sql)
				codes[damage.code]++
				_, summary := examine(t, d.inspector)
				require.Equal(t, codes, summary.Findings, damage.sql)
			}
		})
	}
}

// TestAVisitMayLookAway checks that a visit that skips rows still sees the following sessions.
func TestAVisitMayLookAway(t *testing.T) {
	t.Parallel()
	var runRows []model.Run
	for n := range 9 {
		runRows = append(runRows, model.Run{SessionID: fmt.Sprintf("s-%d", n/3), RunID: fmt.Sprintf("r-%d", n)})
	}
	var seen []string
	err := streamWalker{
		Runs: each(runRows),
	}.Walk(t.Context(), func(rows *model.SessionRows) error {
		for run, err := range rows.Runs {
			require.NoError(t, err)
			seen = append(seen, rows.SessionID+" "+run.RunID)
			break
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"s-0 r-0", "s-1 r-3", "s-2 r-6"}, seen)
}

func TestAnEndedContextEndsTheWalk(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			fill(t, d.store)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := doctor.Examine(ctx, d.inspector, func(doctor.Finding) {})
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestADatabaseInMemoryIsWalkedByItsStore(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	fill(t, store)
	for range 2 {
		found, summary := examine(t, store)
		require.Empty(t, found)
		require.Equal(t, int64(9), summary.Rows.Runs)
	}
	require.NoError(t, store.Ready(t.Context()), "the walk has left its transaction open")
}

// TestInspectorsChangeNothing checks what an inspector rejects, and that it creates neither a
// database nor a schema.
func TestInspectorsChangeNothing(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "holdpoint.db")
		_, err := sqlite.OpenInspector(t.Context(), path)
		require.ErrorIs(t, err, os.ErrNotExist)
		require.NoFileExists(t, path)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		_, err = sqlite.OpenInspector(t.Context(), path)
		require.ErrorIs(t, err, migrations.ErrSchemaBehind)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, text)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		_, err := postgres.OpenInspector(t.Context(), postgrestest.URL(t, postgrestest.Empty()))
		require.ErrorIs(t, err, migrations.ErrSchemaBehind)
	})
}

// streamWalker walks rows in memory. A table without rows may be nil.
type streamWalker model.RowStreams

func (w streamWalker) Walk(_ context.Context, visit func(*model.SessionRows) error) error {
	return model.RowStreams{
		Sessions: orNone(w.Sessions), Runs: orNone(w.Runs), Requests: orNone(w.Requests), Events: orNone(w.Events),
		Records: orNone(w.Records), Effects: orNone(w.Effects), Messages: orNone(w.Messages), Rules: orNone(w.Rules), Entries: orNone(w.Entries),
	}.Visit(visit)
}

func orNone[R any](rows model.NextRow[R]) model.NextRow[R] {
	if rows == nil {
		return func() (*R, error) { return nil, nil }
	}
	return rows
}

func failing[R any](err error) model.NextRow[R] { return func() (*R, error) { return nil, err } }

// one yields a row and then an error, or the end.
func one[R any](row R, err error) model.NextRow[R] {
	next := each([]R{row})
	return func() (*R, error) {
		if given, _ := next(); given != nil {
			return given, nil
		}
		return nil, err
	}
}

func each[R any](rows []R) model.NextRow[R] {
	return func() (*R, error) {
		if len(rows) == 0 {
			return nil, nil
		}
		row := rows[0]
		rows = rows[1:]
		return &row, nil
	}
}
