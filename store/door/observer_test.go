package door_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

// notes records the calls of an observer.
type notes struct {
	mu       sync.Mutex
	answered []error
	waited   []time.Duration
	ended    []door.Transaction
	runs     int
	lost     chan int // nil if not checked
}

func (n *notes) Answered(_ runs.Command, _ runs.Reply, err error, _ time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answered = append(n.answered, err)
}

func (n *notes) Began(waited time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waited = append(n.waited, waited)
}

func (n *notes) Ended(t door.Transaction) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = append(n.ended, t)
}

func (n *notes) Committed(changes []runs.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range changes {
		n.runs += len(changes[i].NewRuns)
	}
}

func (n *notes) Lost(sessions int) { n.lost <- sessions }

func TestAnObserverIsToldOfLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, seen := newMemory(), &notes{}
		release := held(m)
		c := loading(m, door.Options{Lanes: 1, Observer: seen})
		require.Equal(t, []door.LaneState{{Lane: 0}}, c.Lanes(), "at rest")
		first := do(t.Context(), c, create("s1", "r1"))
		synctest.Wait()
		time.Sleep(time.Second)
		second := do(t.Context(), c, create("s2", "r2"))
		synctest.Wait()
		time.Sleep(2 * time.Second)
		require.Equal(t, []door.LaneState{{Lane: 0, Waiting: 1, Busy: 3 * time.Second, Oldest: 3 * time.Second}}, c.Lanes())
		release()
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-second).err)
		require.Error(t, (<-do(t.Context(), c, &runs.CancelRun{RunID: ""})).err)
		c.Close()
		require.Equal(t, []door.LaneState{{Lane: 0}}, c.Lanes())
		require.Len(t, seen.answered, 3)
		require.Equal(t, []time.Duration{0, 2 * time.Second}, seen.waited)
		require.Equal(t, 2, seen.runs)
		require.Len(t, seen.ended, 2)
		require.Equal(t, door.Transaction{Lane: 0, Commands: 1, Read: true, Result: door.ResultCommitted, Took: 3 * time.Second}, seen.ended[0])
	})
}

func TestACommandThatWaitsForALockedSessionIsTheOldest(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		m.lock("s", true)
		c := loading(m, door.Options{Lanes: 1})
		call := do(t.Context(), c, create("s", "r"))
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, time.Second, c.Lanes()[0].Oldest)
		m.lock("s", false)
		require.NoError(t, (<-call).err)
		synctest.Wait()
		require.Zero(t, c.Lanes()[0].Oldest)
		c.Close()
	})
}
