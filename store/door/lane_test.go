package door_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

func TestALockedSessionHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		c := loading(m, door.Options{Lanes: 1, MaxBatch: 8})
		defer c.Close()
		m.lock("locked", true)
		var waiting []<-chan result
		for i := range 20 {
			waiting = append(waiting, do(t.Context(), c, create("locked", fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		began := time.Now()
		for i := range 40 {
			require.NoError(t, (<-do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("other%d", i)))).err)
		}
		require.Zero(t, time.Since(began), "the lane never waits")
		time.Sleep(time.Second)
		for _, call := range waiting {
			require.Empty(t, call)
		}
		require.NoError(t, c.Stalled())

		m.lock("locked", false)
		for i, call := range waiting {
			got := <-call
			require.NoError(t, got.err)
			require.EqualValues(t, i, got.reply.Run.Run.QueuedAhead, "their order is kept")
		}
		require.Less(t, time.Since(began), 1100*time.Millisecond)
		require.NoError(t, (<-do(t.Context(), c, create("locked", "later"))).err)
	})
}

func TestTheWaitForALockedSessionHasAnEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		c := loading(m, door.Options{Lanes: 1, LockWait: 3 * time.Second})
		defer c.Close()
		m.lock("locked", true)
		began := time.Now()
		first := do(t.Context(), c, create("locked", "r1"))
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := do(ctx, c, create("locked", "r2"))
		synctest.Wait()
		second := do(t.Context(), c, create("locked", "r3"))
		synctest.Wait()
		cancel()
		require.ErrorIs(t, (<-withdrawn).err, context.Canceled)
		got := <-first
		require.ErrorIs(t, got.err, runs.ErrUnavailable)
		require.ErrorIs(t, got.err, door.ErrSessionLocked)
		require.InDelta(t, 3, time.Since(began).Seconds(), 0.1)
		m.lock("locked", false)
		require.NoError(t, (<-second).err, "it has waited for less")
		require.NotContains(t, m.sessionOf, "r1")
		require.NotContains(t, m.sessionOf, "r2")
	})
}

func TestALockedSessionInARefusedBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		refused := false
		m.onCommit = func(runs.Writes) error {
			if refused {
				return nil
			}
			refused = true
			return fmt.Errorf("deadlock: %w", door.ErrRefused)
		}
		c := loading(m, door.Options{Lanes: 1})
		defer c.Close()
		first := do(t.Context(), c, &runs.EndSession{SessionID: "none"})
		synctest.Wait()
		m.lock("locked", true)
		other := do(t.Context(), c, create("s", "r"))
		synctest.Wait()
		var waiting []<-chan result
		for i := range 3 {
			waiting = append(waiting, do(t.Context(), c, create("locked", fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		release()
		require.Error(t, (<-first).err)
		require.NoError(t, (<-other).err)
		m.lock("locked", false)
		for i, call := range waiting {
			got := <-call
			require.NoError(t, got.err)
			require.EqualValues(t, i, got.reply.Run.Run.QueuedAhead)
		}
	})
}

func TestCloseEndsTheWaitForALockedSession(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		c := loading(m, door.Options{Lanes: 1})
		m.lock("locked", true)
		m.lock("freed", true)
		began := time.Now()
		locked := do(t.Context(), c, create("locked", "r1"))
		freed := do(t.Context(), c, create("freed", "r2"))
		synctest.Wait()
		m.lock("freed", false)
		require.True(t, c.Close())
		require.ErrorIs(t, (<-locked).err, runs.ErrClosed)
		require.NoError(t, (<-freed).err, "it is tried once more")
		require.Zero(t, time.Since(began))
		require.NotContains(t, m.sessionOf, "r1")
	})
}

func TestWhatIsLargeRidesWithFew(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		c := loading(m, door.Options{Lanes: 1, MaxBatch: 16, MaxBatchBytes: 1000, MaxBatchRows: 6})
		defer c.Close()
		var calls []<-chan result
		start := func(command runs.Command) {
			calls = append(calls, do(t.Context(), c, command))
			synctest.Wait()
		}
		large := func(id string, bytes int) *runs.CreateRun {
			command := create(id, id)
			command.Input = api.JSON(`"` + strings.Repeat("x", bytes-2) + `"`)
			return command
		}
		start(create("first", "first"))
		start(create("s1", "s1"))
		start(large("huge", 5000)) // alone, because it exceeds the limit
		start(large("half", 600))
		start(large("other-half", 399))
		start(create("s2", "s2"))
		for i := range 7 { // six rows, and the remaining one
			start(create("row", fmt.Sprintf("row%d", i)))
		}
		release()
		for i, call := range calls[:4] {
			require.NoError(t, (<-call).err, i)
		}
		for _, call := range calls[5:] {
			require.NoError(t, (<-call).err)
		}
		require.Equal(t, []int{1, 1, 1, 3, 6, 1}, m.sizes())
	})
}

func TestALaneThatDoesNotMoveIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		var log lockedBuffer
		c := loading(m, door.Options{
			Lanes: 1, CloseWithin: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		call := do(t.Context(), c, create("s", "r"))
		time.Sleep(4 * time.Second)
		require.NoError(t, c.Stalled())
		time.Sleep(10 * time.Second)
		err := c.Stalled()
		require.ErrorIs(t, err, runs.ErrUnavailable)
		require.ErrorContains(t, err, "lane 0")
		require.Equal(t, 1, strings.Count(log.String(), "lane has not moved"), "it is logged once")

		began := time.Now()
		require.False(t, c.Close(), "closing does not wait forever")
		require.Equal(t, 3*time.Second, time.Since(began))
		require.ErrorIs(t, (<-call).err, runs.ErrUnavailable)
		require.False(t, c.Close())
		release()
		synctest.Wait()
		require.NoError(t, c.Stalled())
	})
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
