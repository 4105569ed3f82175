package watch

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/runs/reads"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// signals returns the number of pending signals.
func signals(w *Watch) int {
	n := 0
	for {
		select {
		case <-w.C():
			n++
		default:
			return n
		}
	}
}

// held returns the number of sessions and watches in the hub.
func held(h *Hub) (sessions, watches int) {
	for i := range h.shards {
		sessions += len(h.shards[i].sessions)
		for _, list := range h.shards[i].sessions {
			watches += len(list)
		}
	}
	return sessions, watches
}

func TestPublishSignalsTheWatchesOfItsSession(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	one, two, other := hub.Session("a"), hub.Session("a"), hub.Session("b")

	hub.Publish(reads.Notice{SessionID: "a"})
	hub.Publish(reads.Notice{SessionID: "a"})
	require.Equal(t, 1, signals(one), "signals coalesce")
	require.Equal(t, 1, signals(two))
	require.Equal(t, 0, signals(other))

	hub.Publish(reads.Notice{SessionID: "a"})
	require.Equal(t, 1, signals(one), "a notice after the last signal was taken makes a new one")

	hub.Publish(reads.Notice{SessionID: "nobody waits here"})
	require.Equal(t, 0, signals(other))
}

func TestNoticeWithoutSessionSignalsEverybody(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	var watches []*Watch
	for i := range 200 {
		watches = append(watches, hub.Session(strconv.Itoa(i)))
	}
	hub.Publish(reads.Notice{})
	for _, w := range watches {
		require.Equal(t, 1, signals(w))
	}
}

func TestCloseEndsSignalsAndFreesMemory(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	first, middle, last := hub.Session("a"), hub.Session("a"), hub.Session("a")

	first.Close()
	first.Close()
	hub.Publish(reads.Notice{SessionID: "a"})
	require.Equal(t, 0, signals(first))
	require.Equal(t, 1, signals(middle))
	require.Equal(t, 1, signals(last))

	last.Close()
	hub.Publish(reads.Notice{SessionID: "a"})
	require.Equal(t, 1, signals(middle))

	middle.Close()
	sessions, watches := held(hub)
	require.Zero(t, sessions)
	require.Zero(t, watches)
}

// Every waiter subscribes, reads, and waits for the rest. However publishing and subscribing
// interleave, none may miss a commit.
func TestNothingIsMissedUnderConcurrency(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const notices = 500
	var (
		mu  sync.Mutex
		seq = map[string]int{}
		wg  sync.WaitGroup
	)
	for i := range 64 {
		session := strconv.Itoa(i % 8)
		wg.Go(func() {
			for target := 1; target <= notices; target += 7 {
				w := hub.Session(session)
				err := Until(ctx, w, 0, func(context.Context) (bool, error) {
					mu.Lock()
					defer mu.Unlock()
					return seq[session] >= target, nil
				})
				w.Close()
				if err != nil {
					t.Errorf("session %s never showed %d: %v", session, target, err)
					return
				}
			}
		})
	}
	for i := range 8 {
		session := strconv.Itoa(i)
		wg.Go(func() {
			for range notices {
				mu.Lock()
				seq[session]++
				mu.Unlock()
				hub.Publish(reads.Notice{SessionID: session})
			}
		})
	}
	wg.Wait()
	sessions, _ := held(hub)
	require.Zero(t, sessions)
}

func TestUntil(t *testing.T) {
	t.Parallel()
	broken := errors.New("database is gone")
	gone := errors.New("client is gone")

	tests := []struct {
		name string
		poll time.Duration
		// act runs during the wait, after this delay.
		actAfter time.Duration
		act      func(hub *Hub, cancel context.CancelCauseFunc)
		// check gets the number of the call, from 1, and the time since the wait began.
		check      func(ctx context.Context, call int, after time.Duration) (bool, error)
		wantErr    error
		wantCalls  int
		wantWaited time.Duration
	}{
		{
			name:      "done at once",
			check:     func(context.Context, int, time.Duration) (bool, error) { return true, nil },
			wantCalls: 1,
		},
		{
			name:       "a signal makes it look again",
			actAfter:   3 * time.Second,
			act:        func(hub *Hub, _ context.CancelCauseFunc) { hub.Publish(reads.Notice{SessionID: "s"}) },
			check:      func(_ context.Context, call int, _ time.Duration) (bool, error) { return call == 2, nil },
			wantCalls:  2,
			wantWaited: 3 * time.Second,
		},
		{
			name:       "a lost hint is found by the poll",
			poll:       2 * time.Second,
			check:      func(_ context.Context, _ int, after time.Duration) (bool, error) { return after >= 3*time.Second, nil },
			wantCalls:  3,
			wantWaited: 4 * time.Second,
		},
		{
			name:       "the deadline is told as a timeout",
			poll:       4 * time.Second,
			check:      func(context.Context, int, time.Duration) (bool, error) { return false, nil },
			wantErr:    ErrTimeout,
			wantCalls:  3,
			wantWaited: 10 * time.Second,
		},
		{
			name: "a read cut off by the deadline is a timeout",
			check: func(ctx context.Context, _ int, _ time.Duration) (bool, error) {
				<-ctx.Done()
				return false, ctx.Err()
			},
			wantErr:    ErrTimeout,
			wantCalls:  1,
			wantWaited: 10 * time.Second,
		},
		{
			name:       "a cancellation is told by its cause",
			actAfter:   time.Second,
			act:        func(_ *Hub, cancel context.CancelCauseFunc) { cancel(gone) },
			check:      func(context.Context, int, time.Duration) (bool, error) { return false, nil },
			wantErr:    gone,
			wantCalls:  1,
			wantWaited: time.Second,
		},
		{
			name:       "a cancellation without a cause",
			actAfter:   time.Second,
			act:        func(_ *Hub, cancel context.CancelCauseFunc) { cancel(nil) },
			check:      func(context.Context, int, time.Duration) (bool, error) { return false, nil },
			wantErr:    context.Canceled,
			wantCalls:  1,
			wantWaited: time.Second,
		},
		{
			name:      "an error of the check ends it",
			check:     func(context.Context, int, time.Duration) (bool, error) { return false, broken },
			wantErr:   broken,
			wantCalls: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hub := NewHub()
				w := hub.Session("s")
				defer w.Close()
				cancellable, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				ctx, stop := context.WithTimeout(cancellable, 10*time.Second)
				defer stop()
				if tt.act != nil {
					time.AfterFunc(tt.actAfter, func() { tt.act(hub, cancel) })
				}

				begin, calls := time.Now(), 0
				err := Until(ctx, w, tt.poll, func(ctx context.Context) (bool, error) {
					calls++
					return tt.check(ctx, calls, time.Since(begin))
				})
				require.ErrorIs(t, err, tt.wantErr)
				require.Equal(t, tt.wantCalls, calls)
				require.Equal(t, tt.wantWaited, time.Since(begin))
			})
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	hub := NewHub()
	for i := range 1000 {
		defer hub.Session(strconv.Itoa(i)).Close()
	}
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			hub.Publish(reads.Notice{SessionID: strconv.Itoa(i % 1000)})
		}
	})
}
