package read

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// frozen never answers.
type frozen struct{ Database }

func (frozen) List([]string) any { return nil }
func (frozen) Now() []any        { return nil }

func (frozen) Ask(ctx context.Context, _ ...Query) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f frozen) AskAtOneMoment(ctx context.Context, _ ...Query) error { return f.Ask(ctx) }

func (f frozen) Snapshot(ctx context.Context, _ func(func(...Query) error) error) error {
	return f.Ask(ctx)
}

func TestEveryReadOfAFrozenDatabaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(frozen{}, &Statements{}, 1)
		for name, read := range map[string]func(context.Context) error{
			"run":      func(ctx context.Context) error { _, err := r.Run(ctx, "r"); return err },
			"session":  func(ctx context.Context) error { _, err := r.Session(ctx, "s"); return err },
			"head":     func(ctx context.Context) error { _, err := r.SessionHead(ctx, "s"); return err },
			"runs":     func(ctx context.Context) error { _, err := r.Runs(ctx, reads.RunQuery{Limit: 1}); return err },
			"sessions": func(ctx context.Context) error { _, err := r.Sessions(ctx, reads.SessionQuery{}); return err },
			"events": func(ctx context.Context) error {
				_, _, err := r.EventsWithin(ctx, reads.EventQuery{RunID: "r", Limit: 1, MaxBytes: api.MaxReplyBytes})
				return err
			},
			"due": func(ctx context.Context) error { _, err := r.DueEffects(ctx, 1); return err },
		} {
			begin := time.Now()
			err := read(t.Context())
			require.ErrorIs(t, err, runs.ErrUnavailable, name)
			require.NotErrorIs(t, err, context.DeadlineExceeded, name)
			require.Equal(t, Timeout, time.Since(begin), name)

			sooner, cancel := context.WithTimeout(t.Context(), time.Second)
			begin = time.Now()
			err = read(sooner)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Equal(t, time.Second, time.Since(begin), name)
		}
	})
}

// slowLists answers everything but lists, and counts its list queries.
type slowLists struct {
	frozen
	asked *atomic.Int64
}

func (s slowLists) Ask(ctx context.Context, queries ...Query) error {
	if strings.Contains(queries[0].SQL, "LIMIT") {
		s.asked.Add(1)
		return s.frozen.Ask(ctx)
	}
	return nil
}

func TestSlowListsLeaveConnectionsToOtherReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := slowLists{asked: &atomic.Int64{}}
		r := New(db, &Statements{}, 4)
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				_, err := r.Sessions(t.Context(), reads.SessionQuery{Limit: 1})
				require.ErrorIs(t, err, runs.ErrUnavailable, "also of those that wait for their turn")
			})
		}
		synctest.Wait()
		require.EqualValues(t, 2, db.asked.Load())
		begin := time.Now()
		_, err := r.SessionHead(t.Context(), "s")
		require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err))
		require.Zero(t, time.Since(begin))
		group.Wait()
	})
}

func TestPausedListsGoOnWhenResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(frozen{}, &Statements{}, 4)
		list := func(done *atomic.Int64) {
			_, _ = r.Sessions(t.Context(), reads.SessionQuery{})
			done.Add(1)
		}
		var before, after atomic.Int64
		go list(&before)
		synctest.Wait()
		resume, err := r.PauseLists(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, before.Load(), "it waits for the list that is being read")
		go list(&after)
		time.Sleep(Timeout / 2)
		synctest.Wait()
		_, err = r.Run(t.Context(), "r")
		require.ErrorIs(t, err, runs.ErrUnavailable, "other reads go on")
		resume()
		sooner, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go list(&after)
		synctest.Wait()
		_, err = r.PauseLists(sooner)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = r.PauseLists(t.Context())
		require.NoError(t, err, "a pause that was given up holds nothing")
	})
}
