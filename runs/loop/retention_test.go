package loop

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// recordStore holds the creation times of idempotency records.
type recordStore struct {
	wedged  []reads.DueRun
	mended  []string
	mu      sync.Mutex
	madeAt  []int64
	sweeps  int
	failing error
	// aheadMs is how far its clock is set forward.
	aheadMs int64
}

// yearMs is a year; 300 of them are longer than a time.Duration.
const yearMs = 365 * 24 * 3600 * 1000

func (s *recordStore) NowMs(context.Context) (int64, error) {
	return nowMs() + s.aheadMs, nil
}

func (s *recordStore) SweepIdempotency(_ context.Context, beforeMs int64, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweeps++
	if s.failing != nil && s.sweeps > 1 {
		return 0, s.failing
	}
	var kept []int64
	deleted := 0
	for _, at := range s.madeAt {
		if at < beforeMs && deleted < limit {
			deleted++
		} else {
			kept = append(kept, at)
		}
	}
	s.madeAt = kept
	return deleted, nil
}

func (s *recordStore) add(n int, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.madeAt = append(s.madeAt, nowMs()-age.Milliseconds())
	}
}

func (s *recordStore) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.madeAt)
}

func TestRetentionDeletesOnlyWhatIsTooOld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &recordStore{}
		store.add(2500, defaultIdempotencyRetention+time.Millisecond)
		store.add(70, defaultIdempotencyRetention)
		result := pass(t, NewRetention(store, RetentionOptions{}).RunOnce)
		require.Equal(t, RetentionResult{Deleted: 2500}, result)
		require.Equal(t, 70, store.left())
		require.Equal(t, 3, store.sweeps)
	})
}

// What a wrong clock makes old is there when the clock was set right within an hour. A machine that slept only waits.
func TestRetentionWaitsAfterTheClockWentForward(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &recordStore{}
		out := &logs{}
		retention := NewRetention(store, RetentionOptions{Logger: out.logger()})
		store.add(3, time.Hour)
		deletes := func(n int) {
			t.Helper()
			require.Equal(t, RetentionResult{Deleted: n}, pass(t, retention.RunOnce))
		}
		deletes(0)
		store.aheadMs = 400 * yearMs
		deletes(0)
		<-time.After(30 * time.Minute)
		deletes(0)
		require.Equal(t, 1, out.count("went forward"))
		store.aheadMs = 0
		store.add(1, 8*24*time.Hour)
		deletes(1)

		store.aheadMs = (23 * time.Hour).Milliseconds()
		store.add(1, 8*24*time.Hour)
		deletes(1)

		store.aheadMs = 400 * yearMs
		deletes(0)
		<-time.After(30 * time.Minute)
		store.aheadMs = 800 * yearMs // it is wrong again, or the machine slept
		deletes(0)
		<-time.After(30 * time.Minute)
		deletes(3)
		require.Equal(t, 2, out.count("went forward"))
	})
}

func TestRetentionPassIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &recordStore{}
		store.add(maxRetentionBatches+30, time.Hour)
		out := &logs{}
		stop := goOn(t, NewRetention(store, RetentionOptions{Retention: time.Minute, batch: 1, Logger: out.logger()}).Run)
		defer stop()
		synctest.Wait()
		require.Equal(t, 30, store.left())
		<-time.After(time.Second)
		synctest.Wait()
		require.Zero(t, store.left(), "the next pass does not wait for the interval")

		store.add(1, 59*time.Second)
		<-time.After(time.Minute)
		synctest.Wait()
		require.Zero(t, store.left())
		<-time.After(time.Hour)
		require.Equal(t, 3, out.count("\n"), "it logs only when it did something")
	})
}

func TestRetentionTellsWhatItDidBeforeAFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &recordStore{failing: errors.New("disk is full")}
		store.add(3000, 30*24*time.Hour)
		result, err := NewRetention(store, RetentionOptions{}).RunOnce(t.Context())
		require.ErrorIs(t, err, store.failing)
		require.Equal(t, RetentionResult{Deleted: 1000}, result)
	})
}
