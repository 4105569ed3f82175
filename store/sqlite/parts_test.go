package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/committer"
)

// half is a command with all parts written, except the deciding one.
type half struct {
	batch   *partedBatch
	staging *staging
	writes  runs.Writes
}

// manyEvents is the maximum number of events of one call.
func manyEvents() []api.JSON {
	events := make([]api.JSON, api.MaxEventsPerCall)
	for i := range events {
		events[i] = api.JSON(fmt.Sprintf(`{"type":"step","text":"%01000d"}`, i))
	}
	events[10] = api.JSON(`{"type":"output","content":"staged"}`)
	return events
}

// openHeld opens a file with run "r" of session "s", which a worker has claimed and appended events
// to.
func openHeld(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"output","content":"there"}`)}})
	return s
}

// beginHalf loads and decides a large command, and stages its parts.
func beginHalf(t *testing.T, s *Store) *half {
	t.Helper()
	command := &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()}
	require.NoError(t, runs.Prepare(command, runs.NewID))
	e := &engine{store: s}
	begun, err := e.BeginParted(t.Context(), []committer.Load{{SessionID: "s", Needs: []runs.Needs{command.Needs()}}})
	require.NoError(t, err)
	change, _, err := runs.Decide(begun.State("s"), command, begun.NowMs())
	require.NoError(t, err)
	h := &half{batch: begun.(*partedBatch), writes: runs.Gather([]runs.Change{change})}
	h.staging = newStaging("s", &h.writes)
	require.Len(t, h.staging.events, api.MaxEventsPerCall-len(h.writes.Events))
	require.LessOrEqual(t, len(h.writes.Events), partRows)
	s.staged.add(h.staging)
	return h
}

func stageHalf(t *testing.T, s *Store) *half {
	t.Helper()
	h := beginHalf(t, s)
	require.NoError(t, h.batch.stage(t.Context(), h.staging))
	return h
}

func (h *half) decide(t *testing.T) error {
	t.Helper()
	return h.batch.decide(t.Context(), h.staging, &h.writes, nil)
}

// counts returns the number of event rows in the file, and of rows about staging.
func counts(t *testing.T, s *Store) (events, staged int64) {
	t.Helper()
	c, err := s.writers.acquire(t.Context())
	require.NoError(t, err)
	defer s.writers.release(c)
	events, _, err = number(t.Context(), c, `SELECT count(*) FROM events`)
	require.NoError(t, err)
	staged, _, err = number(t.Context(), c, `SELECT count(*) FROM staged_events`)
	require.NoError(t, err)
	return events, staged
}

// requireRead checks the events and outputs that readers of the session see.
func requireRead(t *testing.T, s *Store, events, outputs int) {
	t.Helper()
	for name, query := range map[string]runs.EventQuery{"session": {SessionID: "s"}, "run": {RunID: "r"}} {
		query.Limit, query.MaxBytes = 10*api.MaxEventsPerCall, 1<<30
		found, _, err := s.EventsWithin(t.Context(), query)
		require.NoError(t, err)
		count := len(found) // they are too many to be printed
		require.Equal(t, events, count, name)
		query.Outputs = query.RunID != ""
		if query.Outputs {
			found, _, err = s.EventsWithin(t.Context(), query)
			require.NoError(t, err)
			require.Len(t, found, outputs)
		}
	}
	session, err := s.Session(t.Context(), "s")
	require.NoError(t, err)
	require.EqualValues(t, events, session.Session.LastEventID)
	require.Len(t, session.Outputs, outputs)
	run, err := s.Run(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, run.Outputs, outputs)
	requireWalked(t, s, events)
}

// requireWalked checks that a walk over all rows is healthy and finds this many events.
func requireWalked(t *testing.T, walker model.Walker, events int) {
	t.Helper()
	walked := 0
	require.NoError(t, walker.Walk(t.Context(), func(rows *model.SessionRows) error {
		for _, err := range rows.Events {
			if err != nil {
				return err
			}
			walked++
		}
		return nil
	}))
	require.Equal(t, events, walked)
	_, err := doctor.Examine(t.Context(), walker, func(finding doctor.Finding) { t.Errorf("%+v", finding) })
	require.NoError(t, err)
}

func TestWhatIsStagedIsThereForNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	s := openHeld(t, path)
	defer func() { require.NoError(t, s.Close()) }()
	const before = 3
	requireRead(t, s, before, 1)
	h := stageHalf(t, s)
	rows, lines := counts(t, s)
	require.EqualValues(t, before+len(h.staging.events), rows)
	require.EqualValues(t, 1, lines)
	requireRead(t, s, before, 1)

	inspector, err := OpenInspector(t.Context(), path)
	require.NoError(t, err)
	requireWalked(t, inspector, before)
	require.NoError(t, inspector.Close())

	// Nothing that is staged is redacted or trimmed, and the run is not over.
	_, err = s.RedactEvents(t.Context(), &runs.Redaction{SessionID: "s", EventIDs: []int64{before + 1}})
	require.Equal(t, api.CodeInvalidRequest, refusal.CodeOf(err))
	trimmed, err := s.TrimSession(t.Context(), "s", 1<<60, 10_000)
	require.NoError(t, err)
	require.Zero(t, trimmed.Events)

	copied := filepath.Join(t.TempDir(), "copy.db")
	_, err = Backup(t.Context(), path, copied)
	require.NoError(t, err)

	require.NoError(t, h.decide(t))
	requireRead(t, s, before+api.MaxEventsPerCall, 2)
	_, lines = counts(t, s)
	require.Zero(t, lines)

	restored, err := Open(t.Context(), copied, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, restored.Close()) }()
	rows, lines = counts(t, restored)
	require.EqualValues(t, before, rows, "opening takes out what came to no end")
	require.Zero(t, lines)
	requireRead(t, restored, before, 1)
	do(t, restored, &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()})
	requireRead(t, restored, before+api.MaxEventsPerCall, 2)
}

func TestWhatIsRefusedAtItsEndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
	defer func() { require.NoError(t, s.Close()) }()
	h := beginHalf(t, s)
	s.staged.remove("s")
	do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"between"}`)}})
	h.writes.Events = append(h.staging.events, h.writes.Events...)
	require.ErrorIs(t, h.batch.Commit(t.Context(), h.writes), committer.ErrRefused)
	rows, lines := counts(t, s)
	require.EqualValues(t, 4, rows)
	require.Zero(t, lines)
	requireRead(t, s, 4, 1)
}

func TestACallerWhoseTimeIsOverLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
	defer func() { require.NoError(t, s.Close()) }()
	h := beginHalf(t, s)
	require.NoError(t, h.batch.stageOne(t.Context(), h.staging, false))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.batch.stage(ended, h.staging), committer.ErrRefused)
	require.NoError(t, s.unstage(t.Context(), "s"))
	rows, lines := counts(t, s)
	require.EqualValues(t, 3, rows)
	require.Zero(t, lines)
}

// TestWhoWritesTheSessionTakesOutWhatIsLeft is about leftovers that could not be deleted when
// their command was rejected.
func TestWhoWritesTheSessionTakesOutWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
	defer func() { require.NoError(t, s.Close()) }()
	h := stageHalf(t, s)
	do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"between"}`)}})
	rows, lines := counts(t, s)
	require.EqualValues(t, 4, rows)
	require.Zero(t, lines)
	requireRead(t, s, 4, 1)
	require.ErrorIs(t, h.decide(t), committer.ErrRefused)
	requireRead(t, s, 4, 1)
}

func TestABatchTakesAPartAlong(t *testing.T) {
	t.Parallel()
	s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
	defer func() { require.NoError(t, s.Close()) }()
	h := beginHalf(t, s)
	next := &part{staging: h.staging, ended: make(chan error, 1)}
	s.staged.offer(next)
	do(t, s, &runs.CreateSession{SessionID: "other"})
	require.NoError(t, <-next.ended)
	require.Equal(t, partRows, h.staging.written)

	// A part that is refused harms nothing else.
	c, err := s.writers.acquire(t.Context())
	require.NoError(t, err)
	_, err = c.exec(t.Context(), `CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.event_id = 50 BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	require.NoError(t, err)
	s.writers.release(c)
	next = &part{staging: h.staging, ended: make(chan error, 1)}
	s.staged.offer(next)
	do(t, s, &runs.CreateSession{SessionID: "another"})
	require.ErrorIs(t, <-next.ended, committer.ErrRefused)
	require.NoError(t, s.unstage(t.Context(), "s"))
	rows, lines := counts(t, s)
	require.EqualValues(t, 3, rows)
	require.Zero(t, lines)

	// Through the door the command is rejected as usual, without leftovers.
	_, err = s.Do(t.Context(), &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()})
	require.ErrorIs(t, err, runs.ErrUnavailable)
	rows, lines = counts(t, s)
	require.EqualValues(t, 3, rows)
	require.Zero(t, lines)
	requireRead(t, s, 3, 1)
}

// TestNoTransactionIsLong bounds the wait of others behind a large command: no transaction
// writes more than a few dozen pages, where the whole command writes about 400, with or without
// other commands.
func TestNoTransactionIsLong(t *testing.T) {
	t.Parallel()
	const mostFrames = 120
	for _, others := range []int{0, 4} {
		t.Run(strconv.Itoa(others), func(t *testing.T) {
			t.Parallel()
			s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
			defer func() { require.NoError(t, s.Close()) }()
			s.staged.growAfter = time.Hour // a slow machine would write larger parts
			var mu sync.Mutex              // a checkpoint has the connection after the last command, too
			most, total, before := 0, 0, -1
			c, err := s.writers.acquire(t.Context())
			require.NoError(t, err)
			released := s.writers.released
			s.writers.released = func(c *connection) {
				released(c)
				mu.Lock()
				defer mu.Unlock()
				if written := s.checkpoints.written; before >= 0 {
					most, total = max(most, written-before), total+written-before
				}
				before = s.checkpoints.written
			}
			s.writers.release(c)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, others)
			for n := range others {
				go func() {
					for i := 0; ; i++ {
						_, err := s.Do(ctx, &runs.CreateSession{SessionID: fmt.Sprintf("s-%d-%d", n, i)})
						if err != nil {
							ended <- err
							return
						}
					}
				}()
			}
			for range 3 {
				do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()})
			}
			stop()
			for range others {
				if err := <-ended; !errors.Is(err, context.Canceled) {
					require.NoError(t, err)
				}
			}
			requireRead(t, s, 3+3*api.MaxEventsPerCall, 4)
			mu.Lock()
			defer mu.Unlock()
			require.Greater(t, total, 3*api.MaxEventsPerCall/4, "that much is written")
			require.LessOrEqual(t, most, mostFrames)
			t.Logf("at most %d frames of %d", most, total)
		})
	}
}
