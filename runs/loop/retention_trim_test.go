package loop

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// finishedStore holds finished runs, each with some events and its own session.
type finishedStore struct {
	recordStore
	events  map[string]int
	over    []upkeep.FinishedRun
	blocked map[string]error // nil: it must stay
	trims   int
	// sessions are listed two at a time.
	sessions []model.Session
}

func (s *finishedStore) Sessions(_ context.Context, q reads.SessionQuery) (page []model.SessionSummary, _ error) {
	for i := range s.sessions {
		if s.sessions[i].SessionID <= q.After {
			continue
		}
		if q.Budget.Cut = len(page) == 2; q.Budget.Cut {
			break
		}
		page = append(page, model.SessionSummary{Session: s.sessions[i]})
	}
	return page, nil
}

func (s *finishedStore) finish(id string, age time.Duration, events int) {
	if s.events == nil {
		s.events, s.blocked = map[string]int{}, map[string]error{}
	}
	s.events[id] = events
	s.over = append(s.over, upkeep.FinishedRun{FinishedAtMs: nowMs() - age.Milliseconds(), RunID: id, SessionID: id})
	slices.SortFunc(s.over, compareFinished)
}

func compareFinished(a, b upkeep.FinishedRun) int {
	return cmp.Or(cmp.Compare(a.FinishedAtMs, b.FinishedAtMs), cmp.Compare(a.RunID, b.RunID))
}

func (s *finishedStore) FinishedRuns(_ context.Context, beforeMs int64, after upkeep.FinishedRun, limit int) ([]upkeep.FinishedRun, error) {
	var found []upkeep.FinishedRun
	for _, run := range s.over {
		if run.FinishedAtMs < beforeMs && compareFinished(run, after) > 0 && len(found) < limit {
			found = append(found, run)
		}
	}
	return found, nil
}

func (s *finishedStore) TrimSession(_ context.Context, sessionID string, _ int64, limit int) (upkeep.Trimmed, error) {
	s.trims++
	if err, there := s.blocked[sessionID]; there {
		return upkeep.Trimmed{}, err
	}
	trimmed := upkeep.Trimmed{Events: min(limit, s.events[sessionID])}
	s.events[sessionID] -= trimmed.Events
	if trimmed.More = trimmed.Events == limit; s.events[sessionID] == 0 {
		trimmed.Runs, trimmed.Session = 1, true
		s.over = slices.DeleteFunc(s.over, func(run upkeep.FinishedRun) bool { return run.SessionID == sessionID })
	}
	return trimmed, nil
}

func (s *recordStore) WedgedSessions(_ context.Context, after string, _ int) ([]reads.DueRun, string, error) {
	if len(s.wedged) == 0 || after != "" {
		return nil, "", nil
	}
	return s.wedged, s.wedged[len(s.wedged)-1].SessionID, nil
}

func (s *recordStore) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	mending, is := command.(*runs.ExpireRequests)
	if !is || mending.SessionID == "fails" {
		return runs.Reply{}, errors.New("not this one")
	}
	s.mended = append(s.mended, mending.SessionID)
	return runs.Reply{}, nil
}

func TestASlotThatAFinishedRunHoldsIsFreed(t *testing.T) {
	t.Parallel()
	store := &recordStore{wedged: []reads.DueRun{{SessionID: "a", RunID: "over"}, {SessionID: "fails", RunID: "over"}, {SessionID: "z", RunID: "over"}}}
	retention := NewRetention(store, RetentionOptions{Logger: slog.New(slog.DiscardHandler)})
	result := pass(t, retention.RunOnce)
	require.Equal(t, 2, result.Mended)
	require.Equal(t, []string{"a", "z"}, store.mended)
	result = pass(t, retention.RunOnce)
	require.Zero(t, result.Mended, "it goes on behind the last session")
	result = pass(t, retention.RunOnce)
	require.Equal(t, 2, result.Mended, "and begins again")
}

func (s *recordStore) SweepRules(context.Context, int64, int) (int, error) { return 0, nil }

func (s *recordStore) FinishedRuns(context.Context, int64, upkeep.FinishedRun, int) ([]upkeep.FinishedRun, error) {
	panic("runs are kept")
}

func (s *recordStore) Sessions(context.Context, reads.SessionQuery) ([]model.SessionSummary, error) {
	panic("runs are kept")
}

func (s *recordStore) TrimSession(context.Context, string, int64, int) (upkeep.Trimmed, error) {
	panic("runs are kept")
}

func TestOldRunsAreTrimmedInSmallBatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &finishedStore{}
		store.finish("large", 3*time.Hour, 25)
		store.finish("stays", 3*time.Hour, 5)
		store.finish("fails", 2*time.Hour, 5)
		store.finish("small", 2*time.Hour, 5)
		store.finish("young", time.Hour, 5)
		store.blocked["stays"], store.blocked["fails"] = nil, errors.New("disk is full")
		out := &logs{}
		retention := NewRetention(store, RetentionOptions{KeepRuns: time.Hour, batch: 10, Logger: out.logger()})
		result := pass(t, retention.RunOnce)
		require.Equal(t, RetentionResult{Runs: 2, Events: 30, Sessions: 2}, result)
		require.Equal(t, 6, store.trims)
		require.Equal(t, 1, out.count("session fails: disk is full"))

		<-time.After(time.Millisecond)
		delete(store.blocked, "stays")
		result = pass(t, retention.RunOnce)
		require.Equal(t, RetentionResult{Runs: 2, Events: 10, Sessions: 2}, result)
	})
}

// A session that outlived its runs, or never had one, is found page by page.
func TestASessionWithoutRunsIsDeletedLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		old, young := nowMs()-2*time.Hour.Milliseconds(), nowMs()
		store := &finishedStore{events: map[string]int{}, sessions: []model.Session{
			{SessionID: "a", FirstKeptEventID: 8, LastEventID: 7, UpdatedAtMs: old},
			{SessionID: "has-runs", FirstKeptEventID: 7, LastEventID: 7, UpdatedAtMs: old},
			{SessionID: "touched", FirstKeptEventID: 8, LastEventID: 7, UpdatedAtMs: young},
			{SessionID: "unused", UpdatedAtMs: old},
			{SessionID: "unused-yet", UpdatedAtMs: young},
			{SessionID: "z", FirstKeptEventID: 8, LastEventID: 7, UpdatedAtMs: old},
		}}
		retention := NewRetention(store, RetentionOptions{KeepRuns: time.Hour})
		for _, deleted := range []int{1, 1, 1, 1} { // the fourth pass begins again
			before := store.trims
			result := pass(t, retention.RunOnce)
			require.Equal(t, deleted, result.Sessions)
			require.Equal(t, deleted, store.trims-before)
		}
	})
}

// A pass over sessions without runs is bounded too, and the next one goes on where it ended.
func TestASessionWithVeryManyKeysGoesInSeveralPasses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		old := nowMs() - 2*time.Hour.Milliseconds()
		store := &finishedStore{events: map[string]int{"b": 2*(maxTrims-1) + 1}}
		for _, id := range []string{"a", "b", "c"} {
			store.sessions = append(store.sessions, model.Session{SessionID: id, UpdatedAtMs: old})
		}
		retention := NewRetention(store, RetentionOptions{KeepRuns: time.Hour, batch: 2})
		result := pass(t, retention.RunOnce)
		require.Equal(t, maxTrims, store.trims)
		require.Equal(t, 1, result.Sessions)
		require.True(t, result.More)
		result = pass(t, retention.RunOnce)
		require.Equal(t, maxTrims+2, store.trims)
		require.Equal(t, 2, result.Sessions)
		require.False(t, result.More)
	})
}

// failingSweeps is a store whose sweeps fail.
type failingSweeps struct {
	finishedStore
	failure error
}

func (s *failingSweeps) SweepIdempotency(context.Context, int64, int) (int, error) {
	return 0, s.failure
}

func (s *failingSweeps) SweepRules(context.Context, int64, int) (int, error) { return 0, s.failure }

func TestAFailedSweepDoesNotKeepOldRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &failingSweeps{failure: errors.New("no answer within 15 s")}
		store.wedged = []reads.DueRun{{SessionID: "wedged", RunID: "over"}}
		store.finish("r", 2*time.Hour, 5)
		retention := NewRetention(store, RetentionOptions{KeepRuns: time.Hour, KeepRules: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		result, err := retention.RunOnce(t.Context())
		require.ErrorIs(t, err, store.failure)
		require.ErrorContains(t, err, "delete old idempotency records: ")
		require.ErrorContains(t, err, "delete old rules: ")
		require.Equal(t, RetentionResult{Mended: 1, Runs: 1, Events: 5, Sessions: 1}, result)
	})
}

// A pass is bounded even if many runs must stay, and the runs after them are reached.
func TestWhatMustStayDoesNotHideWhatIsBehindIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &finishedStore{}
		for n := range maxTrims + 10 {
			id := time.Duration(n).String()
			store.finish(id, 3*time.Hour, 1)
			store.blocked[id] = nil
		}
		store.finish("last", 2*time.Hour, 1)
		retention := NewRetention(store, RetentionOptions{KeepRuns: time.Hour})
		result := pass(t, retention.RunOnce)
		require.Equal(t, RetentionResult{}, result, "and there is no hurry")
		require.Equal(t, maxTrims, store.trims)
		result = pass(t, retention.RunOnce)
		require.Equal(t, RetentionResult{Runs: 1, Events: 1, Sessions: 1}, result)
	})
}

func TestAClosedStoreEndsTheRetention(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &finishedStore{}
		store.finish("r", 2*time.Hour, 1)
		store.blocked["r"] = runs.ErrClosed
		err := NewRetention(store, RetentionOptions{KeepRuns: time.Hour, Logger: (&logs{}).logger()}).Run(t.Context())
		require.ErrorIs(t, err, runs.ErrClosed)
	})
}
