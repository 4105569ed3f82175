package wire

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// table is the database shared by all processes of a test.
type table struct {
	mu     sync.Mutex
	rows   map[string]int64
	counts int
	err    error
}

func (d *table) Backlogs(context.Context) ([]model.Backlog, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts++
	var found []model.Backlog
	for principal, prompts := range d.rows {
		found = append(found, model.Backlog{Principal: principal, Prompts: prompts})
	}
	return found, d.err
}

func (d *table) add(principal string, by int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows[principal] += by
}

func newTable() *table { return &table{rows: map[string]int64{}} }

// raise adds one prompt, as a call does, and reports whether it was let.
func raise(t *testing.T, b *Backlog, d *table, principal string) bool {
	t.Helper()
	done, err := b.Take(t.Context(), principal, false, Waiting{Prompts: 1})
	if err != nil {
		require.Equal(t, CodeTooManyPrompts, refusal.CodeOf(err))
		return false
	}
	d.add(principal, 1)
	done(TakenAll)
	return true
}

func TestOneProcessNeverExceedsALimit(t *testing.T) {
	t.Parallel()
	const limit = 200
	d := newTable()
	var later atomic.Int64
	began := time.Now()
	b := NewBacklog(Quota{Prompts: limit}, d, func() time.Time { return began.Add(time.Duration(later.Load())) })
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			for range 50 {
				raise(t, b, d, "agent:a")
			}
		})
	}
	calls.Wait()
	// A commit during a count may count twice until the next one.
	require.LessOrEqual(t, d.rows["agent:a"], int64(limit))
	require.Greater(t, d.rows["agent:a"], int64(limit-limit/10))
	later.Store(int64(recountAfter))
	for raise(t, b, d, "agent:a") {
		require.LessOrEqual(t, d.rows["agent:a"], int64(limit))
	}
	require.Equal(t, int64(limit), d.rows["agent:a"])
	require.True(t, raise(t, b, d, "agent:b"))
}

func TestSeveralProcessesExceedALimitByAShareEachAtMost(t *testing.T) {
	t.Parallel()
	const limit, processes = 320, 4
	d := newTable()
	var all []*Backlog
	for range processes {
		all = append(all, NewBacklog(Quota{Prompts: limit}, d, time.Now))
	}
	var calls sync.WaitGroup
	for _, b := range all {
		calls.Go(func() {
			for range limit {
				raise(t, b, d, "agent:a")
			}
		})
	}
	calls.Wait()
	require.GreaterOrEqual(t, d.rows["agent:a"], int64(limit))
	require.LessOrEqual(t, d.rows["agent:a"], int64(limit+(processes-1)*(limit/shares+1)))
}

func TestWhoIsAtTheLimitIsCountedOnceASecond(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	d := newTable()
	d.rows["agent:a"] = 10
	b := NewBacklog(Quota{Prompts: 10}, d, func() time.Time { return now })
	for range 100 {
		require.False(t, raise(t, b, d, "agent:a"))
	}
	require.Equal(t, 1, d.counts)
	d.add("agent:a", -1)
	require.False(t, raise(t, b, d, "agent:a"), "the count is fresh enough")
	now = now.Add(recountAfter)
	require.True(t, raise(t, b, d, "agent:a"))
	require.False(t, raise(t, b, d, "agent:a"))
	require.Equal(t, 2, d.counts)
	require.Equal(t, Waiting{Prompts: 10}, b.Use())
}

// A caller far from the limit costs one count at first and one for each share.
func TestCountsAreFew(t *testing.T) {
	t.Parallel()
	d := newTable()
	b := NewBacklog(Quota{Prompts: 16_000}, d, time.Now)
	for range 5_000 {
		require.True(t, raise(t, b, d, "agent:a"))
	}
	require.Equal(t, 5, d.counts)
}

// Calls that need a failing count are refused, and other calls continue.
func TestBacklogsFailClosed(t *testing.T) {
	t.Parallel()
	d := newTable()
	d.err = errors.New("away")
	b := NewBacklog(Quota{Prompts: 160, Queued: -1}, d, time.Now)
	_, err := b.Take(t.Context(), "agent:a", false, Waiting{Prompts: 1})
	require.ErrorIs(t, err, d.err)
	_, err = b.Take(t.Context(), "agent:a", false, Waiting{Queued: 1})
	require.NoError(t, err, "there is no limit")
	_, err = b.Take(t.Context(), "user:local", true, Waiting{Prompts: 1})
	require.ErrorIs(t, err, d.err)
	d.err = nil
	for range 10 {
		require.True(t, raise(t, b, d, "agent:a"))
	}
	d.err = errors.New("away again")
	_, err = b.Take(t.Context(), "agent:a", false, Waiting{Prompts: 1})
	require.ErrorIs(t, err, d.err)
	require.True(t, raise(t, b, d, "agent:b"))
}

// An unknown result counts until a count must include it; a refused call does not count.
func TestWhatIsNotKnownCounts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	d := newTable()
	b := NewBacklog(Quota{Prompts: 1}, d, func() time.Time { return now })
	take := func(taken Taken) bool {
		done, err := b.Take(t.Context(), "agent:a", false, Waiting{Prompts: 1})
		if err == nil {
			done(taken)
		}
		return err == nil
	}
	require.True(t, take(TakenNothing))
	require.True(t, take(TakenUnknown))
	now = now.Add(recountAfter)
	require.False(t, take(TakenAll))
	now = now.Add(unknownFor + time.Second)
	require.True(t, take(TakenAll))
}

// Without credentials all callers are bounded together, where that was asked for.
func TestCallersWithoutCredentialsShareALimit(t *testing.T) {
	t.Parallel()
	d := newTable()
	d.rows["user:local"], d.rows[""] = 2, 1
	b := NewBacklog(Quota{Prompts: 4}, d, time.Now)
	done, err := b.Take(t.Context(), "user:local", true, Waiting{Prompts: 1})
	require.NoError(t, err)
	done(TakenAll)
	_, err = b.Take(t.Context(), "user:ada", true, Waiting{Prompts: 1})
	require.Equal(t, CodeTooManyPrompts, refusal.CodeOf(err))
	_, err = NewBacklog(Quota{}, d, time.Now).Take(t.Context(), "user:local", true, Waiting{Prompts: 1 << 40})
	require.NoError(t, err)
}

// slow is a table whose counts end when they are let.
type slow struct {
	*table
	began, goOn chan struct{}
}

func (d *slow) Backlogs(ctx context.Context) ([]model.Backlog, error) {
	d.began <- struct{}{}
	<-d.goOn
	return d.table.Backlogs(ctx)
}

// A slow count delays only callers that need it.
func TestASlowCountIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	d := &slow{newTable(), make(chan struct{}, 1), make(chan struct{})}
	b := NewBacklog(Quota{Prompts: 32}, d, func() time.Time { return now })
	b.patience = 0
	// Before the first count a share is admitted, and no more.
	require.True(t, raise(t, b, d.table, "agent:a"))
	require.True(t, raise(t, b, d.table, "agent:a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Take(ctx, "agent:a", false, Waiting{Prompts: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, raise(t, b, d.table, "agent:b"))
	<-d.began
	d.add("agent:a", 30)
	now = now.Add(time.Minute)
	d.goOn <- struct{}{}
	// Both are in the first count, which began before they were made: they count twice until the next.
	require.False(t, raise(t, b, d.table, "agent:a"))
	// A count that took a minute is repeated after twenty. Meanwhile a caller at the limit is
	// refused.
	now = now.Add(15 * time.Minute)
	require.False(t, raise(t, b, d.table, "agent:a"))
	require.Empty(t, d.began)
	d.add("agent:a", -30)
	now = now.Add(5 * time.Minute)
	require.False(t, raise(t, b, d.table, "agent:a"), "the count goes on")
	<-d.began
	d.goOn <- struct{}{}
	for !raise(t, b, d.table, "agent:a") {
		require.Empty(t, d.began)
	}
}
