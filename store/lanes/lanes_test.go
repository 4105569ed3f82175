package lanes

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errGone = errors.New("gone")

// carrier carries out work of keys, some of which are locked or refused.
type carrier struct {
	*Lanes[*work]
	// gate, if set, blocks each try until it is closed.
	gate chan struct{}

	mu      sync.Mutex
	locked  map[string]bool
	refused map[string]error
	// tries are the keys of each try, and failed the errors of failed work by key.
	tries  [][]string
	failed map[string]error
}

func newCarrier() *carrier {
	c := &carrier{locked: map[string]bool{}, refused: map[string]error{}, failed: map[string]error{}}
	c.Lanes = New(Options[*work]{
		Lanes: 1, MaxBatch: 8, MaxRows: 100, MaxBytes: 100, LockWait: 5 * time.Second, StallAfter: time.Second, CloseWithin: time.Second,
		Retries: 3, ExtraRows: func() int { return 0 }, Carry: c.carry, Fail: c.fail,
		Clock: func() int64 { return time.Now().UnixMilli() }, Logger: slog.New(slog.DiscardHandler),
	})
	return c
}

func (c *carrier) carry(_ int, batch []*work, _ Mode) (locked []*work, err error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for _, w := range batch {
		keys = append(keys, w.Key)
	}
	c.tries = append(c.tries, keys)
	for _, key := range keys {
		if err := c.refused[key]; err != nil {
			if errors.Is(err, ErrLocked) {
				c.mu.Unlock()
				time.Sleep(100 * time.Millisecond) // it has waited for the lock
				c.mu.Lock()
			}
			return nil, err
		}
	}
	for _, w := range batch {
		if c.locked[w.Key] {
			locked = append(locked, w)
		} else if w.Begin() {
			w.End()
		}
	}
	return locked, nil
}

func (c *carrier) fail(items []*work, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range items {
		c.failed[w.Key] = err
		w.End()
	}
}

func (c *carrier) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *carrier) do(ctx context.Context, keys ...string) <-chan error {
	done := make(chan error, len(keys))
	for _, key := range keys {
		go func() { done <- c.Do(ctx, &work{Item{Key: key, Size: Size{Rows: 1}}}) }()
		synctest.Wait()
	}
	return done
}

// A locked key and one that fails keep nobody else waiting, and their items do not wait in vain for
// good.
func TestNoKeyWaitsForAnother(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		block, free func(c *carrier)
		want        error
	}{
		"locked":   {func(c *carrier) { c.locked["x"] = true }, func(c *carrier) { c.locked["x"] = false }, ErrKeyLocked},
		"no lock":  {func(c *carrier) { c.refused["x"] = ErrLocked }, func(c *carrier) { c.refused["x"] = nil }, ErrKeyLocked},
		"refused":  {func(c *carrier) { c.refused["x"] = ErrRefused }, func(c *carrier) { c.refused["x"] = nil }, ErrRefused},
		"unknown":  {func(c *carrier) { c.refused["x"] = errGone }, func(c *carrier) { c.refused["x"] = nil }, errGone},
		"closing":  {func(c *carrier) { c.locked["x"] = true }, func(*carrier) {}, ErrClosed},
		"given up": {func(c *carrier) { c.locked["x"] = true }, func(*carrier) {}, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCarrier()
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.set(func() { test.block(c) })
			first := c.do(ctx, "x")
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			began := time.Now()
			for range 3 {
				require.NoError(t, <-c.do(t.Context(), "y"), name)
			}
			require.Zero(t, time.Since(began), name)
			switch name {
			case "closing":
				require.True(t, c.Close())
			case "given up":
				cancel()
				require.ErrorIs(t, <-first, context.Canceled)
				return
			}
			require.NoError(t, <-first, name)
			c.set(func() {
				require.Error(t, c.failed["x"], name)
				require.ErrorIs(t, c.failed["x"], test.want, name)
				test.free(c)
				delete(c.failed, "x")
			})
			if name == "closing" {
				require.ErrorIs(t, c.Do(t.Context(), &work{}), ErrClosed)
				return
			}
			require.NoError(t, <-c.do(t.Context(), "x"), name)
			require.Empty(t, c.failed, name)
		})
	}
}

// Items that arrive while a batch is in flight are the next one, without one that is large.
func TestWhatArrivesMeanwhileIsTheNextBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCarrier()
		defer c.Close()
		c.gate = make(chan struct{})
		first := c.do(t.Context(), "a")
		others := c.do(t.Context(), "b", "c", "b")
		large := make(chan error, 1)
		go func() { large <- c.Do(t.Context(), &work{Item{Key: "l", Size: Size{Rows: largeRows}}}) }()
		synctest.Wait()
		close(c.gate)
		require.NoError(t, <-first)
		for range 3 {
			require.NoError(t, <-others)
		}
		require.NoError(t, <-large)
		slices.SortFunc(c.tries, func(x, y []string) int { return len(y) - len(x) })
		require.Equal(t, [][]string{{"b", "c", "b"}, {"a"}, {"l"}}, c.tries)
	})
}
