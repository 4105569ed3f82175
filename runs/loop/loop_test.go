package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every runs.Store can be a loop's store.
var (
	_ ExpiryStore    = runs.Store(nil)
	_ RetentionStore = runs.Store(nil)
)

// inBubble runs a test on a clock of its own, next to others.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// pass runs a loop once.
func pass[R any](t *testing.T, runOnce func(context.Context) (R, error)) R {
	t.Helper()
	result, err := runOnce(t.Context())
	require.NoError(t, err)
	return result
}

func nowMs() int64 { return time.Now().UnixMilli() }

// logs collects a loop's log, safe to read while the loop runs.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// goOn runs a loop until the test stops it, and checks that it ends cleanly.
func goOn(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// dueStore holds deadlines of runs.
type dueStore struct {
	// clockAheadMs is the lead of the store's clock over this process's.
	clockAheadMs int64
	takes        time.Duration // of one command

	mu       sync.Mutex
	dueAtMs  map[string]int64
	failing  map[string]error // by run, or by "due" for the query
	expired  []string
	expireAt map[string]int64
	asked    int // queries for the next deadline
	inside   int
	mostIn   int
	notify   func(reads.Notice)
}

func newDueStore() *dueStore {
	return &dueStore{dueAtMs: map[string]int64{}, failing: map[string]error{}, expireAt: map[string]int64{}}
}

func (s *dueStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *dueStore) Subscribe(notify func(reads.Notice)) func() {
	s.set(func() { s.notify = notify })
	return func() { s.set(func() { s.notify = nil }) }
}

func (s *dueStore) NextDueAtMs(context.Context) (int64, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	var next int64
	for _, at := range s.dueAtMs {
		if next == 0 || at < next {
			next = at
		}
	}
	return next, nowMs() + s.clockAheadMs, nil
}

func (s *dueStore) Due(_ context.Context, limit int) ([]reads.DueRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing["due"]; err != nil {
		return nil, err
	}
	var due []reads.DueRun
	for runID, at := range s.dueAtMs {
		if at <= nowMs()+s.clockAheadMs {
			due = append(due, reads.DueRun{RunID: runID, SessionID: "s-" + runID})
		}
	}
	slices.SortFunc(due, func(a, b reads.DueRun) int { return strings.Compare(a.RunID, b.RunID) })
	return due[:min(len(due), limit)], nil
}

func (s *dueStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	expire, ok := command.(*runs.ExpireRequests)
	if !ok || expire.SessionID != "s-"+expire.RunID {
		return runs.Reply{}, fmt.Errorf("unexpected command %#v", command)
	}
	s.set(func() {
		s.inside++
		s.mostIn = max(s.mostIn, s.inside)
	})
	if s.takes > 0 {
		sleep(ctx, s.takes, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
	if err := s.failing[expire.RunID]; err != nil {
		if refusal.CodeOf(err) == api.CodeRunNotFound {
			delete(s.dueAtMs, expire.RunID)
		}
		return runs.Reply{}, err
	}
	if err := ctx.Err(); err != nil {
		return runs.Reply{}, err
	}
	if _, due := s.dueAtMs[expire.RunID]; due {
		delete(s.dueAtMs, expire.RunID)
		s.expired = append(s.expired, expire.RunID)
		s.expireAt[expire.RunID] = nowMs()
	}
	return runs.Reply{}, nil
}

func (s *dueStore) addDue(n int) {
	for i := range n {
		s.dueAtMs[fmt.Sprintf("r%05d", i)] = nowMs()
	}
}

func TestExpirySweepsUntilNothingIsDue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newDueStore()
		store.addDue(10_000)
		store.dueAtMs["later"] = nowMs() + 60_000
		store.takes = time.Millisecond
		result := pass(t, NewExpiry(store, ExpiryOptions{}).RunOnce)
		require.Equal(t, ExpiryResult{Swept: 10_000, Sleep: expiryMaxSleep}, result)
		require.Len(t, store.expired, 10_000)
		require.Equal(t, map[string]int64{"later": nowMs() + 60_000 - 40*11}, store.dueAtMs, "40 parts of 250, 24 at a time")
		require.Equal(t, defaultExpiryConcurrency, store.mostIn)
	})
}

func TestExpiryPassIsBounded(t *testing.T) {
	t.Parallel()
	store := newDueStore()
	store.addDue(maxSweeps*2 + 8)
	e := NewExpiry(store, ExpiryOptions{Batch: 2 * partsOfBatch})
	result := pass(t, e.RunOnce)
	require.Equal(t, ExpiryResult{Swept: maxSweeps * 2}, result, "and the next pass follows at once")
	result = pass(t, e.RunOnce)
	require.Equal(t, 8, result.Swept)
}

func TestFailingRunDoesNotStopThePass(t *testing.T) {
	t.Parallel()
	store := newDueStore()
	store.addDue(20)
	broken := errors.New("constraint refused")
	for _, runID := range []string{"r00000", "r00001", "r00002", "r00009"} {
		store.failing[runID] = broken
	}
	store.failing["r00004"] = refusal.UnknownRun("r00004")
	e := NewExpiry(store, ExpiryOptions{Batch: 3, Concurrency: 2})
	result, err := e.RunOnce(t.Context())
	require.ErrorIs(t, err, broken)
	require.Equal(t, ExpiryResult{Swept: 16, Failed: 4, Sleep: expiryMaxSleep}, result)
	require.Len(t, store.expired, 15)
	require.LessOrEqual(t, store.mostIn, 2)

	clear(store.failing)
	result = pass(t, e.RunOnce)
	require.Equal(t, 4, result.Swept)
}

func TestTwoReplicasSweepAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newDueStore()
		store.addDue(3000)
		store.takes = time.Millisecond
		var replicas sync.WaitGroup
		for range 2 {
			replicas.Go(func() {
				if _, err := NewExpiry(store, ExpiryOptions{}).RunOnce(t.Context()); err != nil {
					t.Errorf("pass failed: %v", err)
				}
			})
		}
		replicas.Wait()
		require.Len(t, store.expired, 3000)
		require.Empty(t, store.dueAtMs)
	})
}

func TestExpiryFollowsTheStoresClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]int64{"same": 0, "ahead": 3_600_000, "behind": -3_600_000} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				store := newDueStore()
				store.clockAheadMs = ahead
				begin := nowMs()
				store.dueAtMs["soon"] = begin + ahead + 250
				store.dueAtMs["later"] = begin + ahead + 90_123
				out := &logs{}
				stop := goOn(t, NewExpiry(store, ExpiryOptions{Logger: out.logger()}).Run)
				<-time.After(2 * time.Minute)
				stop()
				require.Equal(t, map[string]int64{"soon": begin + 250, "later": begin + 90_123}, store.expireAt)
				require.Equal(t, 2, out.count("\n"), "it logs only when it did something")
				require.Equal(t, 2, out.count("swept_runs=1"))
				require.Less(t, store.asked, 130, "about once a second")
				require.Nil(t, store.notify)
			})
		})
	}
}

func TestCommitWakesTheExpiryLoop(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newDueStore()
		stop := goOn(t, NewExpiry(store, ExpiryOptions{Logger: (&logs{}).logger()}).Run)
		defer stop()
		<-time.After(200 * time.Millisecond)
		begin := nowMs()
		store.set(func() { store.dueAtMs["short"] = begin + 50 })
		store.notify(reads.Notice{SessionID: "s"})
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, begin+50, store.expireAt["short"])

		synctest.Wait()
		before := store.asked
		for range 1000 { // a busy second costs a handful of queries
			store.notify(reads.Notice{SessionID: "s"})
			<-time.After(time.Millisecond)
		}
		synctest.Wait()
		require.LessOrEqual(t, store.asked-before, 11)
	})
}

func TestLoopBacksOffAfterFailures(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newDueStore()
		store.addDue(3)
		store.failing["due"] = runs.ErrUnavailable
		out := &logs{}
		stop := goOn(t, NewExpiry(store, ExpiryOptions{Logger: out.logger()}).Run)
		<-time.After(time.Hour)
		failed := out.count("level=WARN")
		require.Less(t, failed, 130)
		require.Greater(t, failed, 120)
		for _, pause := range []string{"500", "1000", "2000", "4000", "8000", "16000"} {
			require.Equal(t, 1, out.count("pause_ms="+pause+"\n"), pause)
		}
		require.Equal(t, failed-6, out.count("pause_ms=30000\n"))

		store.set(func() { delete(store.failing, "due") })
		<-time.After(lastPause)
		synctest.Wait()
		require.Len(t, store.expired, 3)
		store.set(func() { store.dueAtMs["next"] = nowMs() + 1500 })
		<-time.After(1500 * time.Millisecond)
		synctest.Wait()
		require.Len(t, store.expired, 4, "after a success it is on time again")
		stop()
	})
}

func TestLoopEndsWithTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newDueStore()
		store.addDue(500)
		for runID := range store.dueAtMs {
			store.failing[runID] = fmt.Errorf("closing: %w", runs.ErrClosed)
		}
		err := NewExpiry(store, ExpiryOptions{Logger: (&logs{}).logger()}).Run(t.Context())
		require.ErrorIs(t, err, runs.ErrClosed)
		require.Empty(t, store.expired)
	})
}

func TestLoopEndsInTheMiddleOfAPass(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newDueStore()
		store.addDue(1000)
		store.takes = time.Second
		out := &logs{}
		stop := goOn(t, NewExpiry(store, ExpiryOptions{Logger: out.logger()}).Run)
		<-time.After(2500 * time.Millisecond)
		synctest.Wait()
		begin := time.Now()
		stop()
		require.Zero(t, time.Since(begin))
		require.Less(t, len(store.expired), 600, "so many at once, and so many more that take long")
		require.Zero(t, out.count("level=WARN"), "a shutdown is not a failure")
	})
}
