package door_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

// writes reports whether the session is created or updated.
func writes(w *runs.Writes, sessionID string) bool {
	for _, session := range slices.Concat(w.NewSessions, w.UpdatedSessions) {
		if session.SessionID == sessionID {
			return true
		}
	}
	return false
}

// lockTimeout is how long the test engine waits for a lock.
const lockTimeout = 100 * time.Millisecond

func TestASessionThatGetsNoLockInTimeIsSetAside(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		var foreign atomic.Bool
		foreign.Store(true)
		m.onCommit = func(w runs.Writes) error {
			if foreign.Load() && writes(&w, "blocked") {
				time.Sleep(lockTimeout)
				return door.ErrLocked
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 1, MaxBatch: 8})
		defer c.Close()
		var waiting []<-chan result
		for i := range 3 {
			waiting = append(waiting, do(t.Context(), c, create("blocked", fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		time.Sleep(lockTimeout)
		synctest.Wait()
		began := time.Now()
		for i := range 40 {
			require.NoError(t, (<-do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("other%d", i)))).err)
			synctest.Wait()
		}
		require.Zero(t, time.Since(began), "the lane does not wait")
		time.Sleep(time.Second)
		for _, call := range waiting {
			require.Empty(t, call)
		}
		require.NoError(t, c.Stalled())

		foreign.Store(false)
		for i, call := range waiting {
			got := <-call
			require.NoError(t, got.err)
			require.EqualValues(t, i, got.reply.Run.Run.QueuedAhead, "their order is kept")
		}
		require.Less(t, time.Since(began), 1400*time.Millisecond)
		require.NoError(t, (<-do(t.Context(), c, create("blocked", "later"))).err)
	})
}

func TestTheWaitForALockHasAnEndAndIsRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		m.onCommit = func(w runs.Writes) error {
			if writes(&w, "blocked") {
				time.Sleep(lockTimeout)
				return door.ErrLocked
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 1, LockWait: 3 * time.Second})
		defer c.Close()
		began := time.Now()
		got := <-do(t.Context(), c, create("blocked", "r"))
		require.ErrorIs(t, got.err, runs.ErrUnavailable)
		require.InDelta(t, 3, time.Since(began).Seconds(), 0.5)

		// The next command does not block the lane even once.
		again := do(t.Context(), c, create("blocked", "r"))
		synctest.Wait()
		began = time.Now()
		require.NoError(t, (<-do(t.Context(), c, create("s", "other"))).err)
		require.Zero(t, time.Since(began))
		require.ErrorIs(t, (<-again).err, door.ErrSessionLocked)
	})
}

func TestAFailingSessionIsTriedAside(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		var failing atomic.Bool
		failing.Store(true)
		var tries atomic.Int32
		m.onCommit = func(w runs.Writes) error {
			if failing.Load() && writes(&w, "failing") {
				tries.Add(1)
				return fmt.Errorf("check constraint: %w", door.ErrRefused)
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 1, Retries: 4})
		defer c.Close()
		bad := do(t.Context(), c, create("failing", "r"))
		behind := do(t.Context(), c, create("failing", "behind"))
		synctest.Wait()
		began := time.Now()
		for i := range 10 {
			require.NoError(t, (<-do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("other%d", i)))).err)
			synctest.Wait()
		}
		require.Zero(t, time.Since(began), "the pauses between the tries are nobody else's")
		got := <-bad
		require.ErrorIs(t, got.err, runs.ErrUnavailable)
		require.ErrorIs(t, got.err, door.ErrRefused)
		require.ErrorIs(t, (<-behind).err, door.ErrRefused)

		// The session's next command shares no batch with other sessions until one succeeds.
		release := held(m)
		first := do(t.Context(), c, create("first", "first"))
		synctest.Wait()
		bad = do(t.Context(), c, create("failing", "r"))
		good := do(t.Context(), c, create("s", "good"))
		synctest.Wait()
		before := len(m.sizes())
		release()
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-good).err)
		require.ErrorIs(t, (<-bad).err, door.ErrRefused)
		require.Len(t, m.sizes(), before+1+4, "one batch of the other, four tries of the failing")
		failing.Store(false)
		require.NoError(t, (<-do(t.Context(), c, create("failing", "r"))).err)
	})
}

func TestManyLockedSessionsHoldUpALaneOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		blocked := map[string]bool{}
		m.onCommit = func(w runs.Writes) error {
			for _, session := range w.NewSessions {
				if blocked[session.SessionID] {
					time.Sleep(lockTimeout)
					return door.ErrLocked
				}
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 1})
		defer c.Close()
		first := do(t.Context(), c, create("first", "first"))
		synctest.Wait()
		var good []<-chan result
		for i := range 20 {
			blocked[fmt.Sprintf("blocked%d", i)] = true
			do(t.Context(), c, create(fmt.Sprintf("blocked%d", i), fmt.Sprintf("b%d", i)))
			synctest.Wait()
		}
		for i := range 20 {
			good = append(good, do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("r%d", i))))
			synctest.Wait()
		}
		began := time.Now()
		release()
		require.NoError(t, (<-first).err)
		for _, call := range good {
			require.NoError(t, (<-call).err)
		}
		require.Less(t, time.Since(began), 3*time.Second)
		began = time.Now()
		require.NoError(t, (<-do(t.Context(), c, create("s", "r"))).err)
		require.Zero(t, time.Since(began), "a later caller does not wait")
	})
}

// Not parallel: the CPU semaphore is shared by the process and must not cross a synctest bubble.
func TestALargeCommandIsCarriedOutBesideItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		large := api.JSON(`"` + strings.Repeat("x", 600<<10) + `"`)
		m.onCommit = func(w runs.Writes) error {
			for _, run := range w.NewRuns {
				if len(run.Input) > 1000 {
					time.Sleep(time.Second)
				}
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 1})
		defer c.Close()
		var calls []<-chan result
		for i := range 8 {
			command := create(fmt.Sprintf("large%d", i%4), fmt.Sprintf("l%d", i))
			command.Input = large
			calls = append(calls, do(t.Context(), c, command))
			synctest.Wait()
		}
		small := do(t.Context(), c, create("large0", "small"))
		synctest.Wait()
		began := time.Now()
		for i := range 10 {
			require.NoError(t, (<-do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("other%d", i)))).err)
		}
		require.Zero(t, time.Since(began))
		for _, call := range calls {
			require.NoError(t, (<-call).err, "none waits in vain, however long")
		}
		require.EqualValues(t, 2, (<-small).reply.Run.Run.QueuedAhead, "it does not overtake those of its session")
		require.Equal(t, 8*time.Second+250*time.Millisecond, time.Since(began), "the lane had something else to do during the first")
	})
}

// Not parallel: the CPU semaphore is shared by the process and must not cross a synctest bubble.
func TestLargeCommandsLeaveOthersMostOfTheTime(t *testing.T) {
	for others, want := range map[bool]time.Duration{false: 200 * time.Millisecond, true: 650 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			var last atomic.Pointer[time.Time]
			m.onCommit = func(w runs.Writes) error {
				if w.NewRuns[0].SessionID != "other" {
					time.Sleep(50 * time.Millisecond)
					now := time.Now()
					last.Store(&now)
				}
				return nil
			}
			c := loading(m, door.Options{Lanes: 1})
			defer c.Close()
			began := time.Now()
			var calls []<-chan result
			for i := range 4 {
				command := create(fmt.Sprintf("large%d", i%2), fmt.Sprintf("l%d", i))
				command.Input = api.JSON(`"` + strings.Repeat("x", 600<<10) + `"`)
				calls = append(calls, do(t.Context(), c, command))
			}
			for i := range 100 {
				synctest.Wait()
				if others {
					require.NoError(t, (<-do(t.Context(), c, create("other", fmt.Sprintf("other%d", i)))).err)
				}
				time.Sleep(7 * time.Millisecond)
			}
			for _, call := range calls {
				require.NoError(t, (<-call).err)
			}
			require.Equal(t, want, last.Load().Sub(began))
		})
	}
}

// A large command also runs in the background if another transaction had locked its session. Not
// parallel: the CPU semaphore is shared by the process and must not cross a synctest bubble.
func TestALargeCommandOfALockedSessionIsCarriedOutBesideItsLane(t *testing.T) {
	for name, before := range map[string]bool{"it comes while the session waits": true, "it is the first": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				m.onCommit = func(w runs.Writes) error {
					for _, run := range w.NewRuns {
						if len(run.Input) > 1000 {
							time.Sleep(time.Second)
						}
					}
					return nil
				}
				c := loading(m, door.Options{Lanes: 1, LockWait: 3 * time.Second})
				defer c.Close()
				m.lock("locked", true)
				var small <-chan result
				if before {
					small = do(t.Context(), c, create("locked", "small"))
					synctest.Wait()
				}
				command := create("locked", "large")
				command.Input = api.JSON(`"` + strings.Repeat("x", 600<<10) + `"`)
				large := do(t.Context(), c, command)
				time.Sleep(time.Second)
				require.Empty(t, large)

				m.lock("locked", false)
				unlocked := time.Now()
				for i := range 20 {
					sent := time.Now()
					require.NoError(t, (<-do(t.Context(), c, create(fmt.Sprintf("s%d", i), fmt.Sprintf("other%d", i)))).err)
					require.Zero(t, time.Since(sent), "%v after the session was unlocked", time.Since(unlocked))
					time.Sleep(50 * time.Millisecond)
				}
				require.NoError(t, (<-large).err)
				require.Less(t, time.Since(unlocked), 1100*time.Millisecond)
				if before {
					require.NoError(t, (<-small).err)
				}

				m.lock("locked", true)
				sent := time.Now()
				again := *command
				again.RunID = "again"
				require.ErrorIs(t, (<-do(t.Context(), c, &again)).err, door.ErrSessionLocked)
				require.InDelta(t, 3, time.Since(sent).Seconds(), 0.1)
			})
		})
	}
}

func TestCloseTakesInWhatIsCarriedOutAside(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		gate, tries := make(chan struct{}), 0
		m.onCommit = func(runs.Writes) error {
			if tries++; tries == 1 {
				return fmt.Errorf("deadlock: %w", door.ErrRefused)
			}
			<-gate
			return nil
		}
		c := loading(m, door.Options{Lanes: 1})
		call := do(t.Context(), c, create("s", "r"))
		synctest.Wait()
		closed := make(chan bool)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		close(gate)
		require.True(t, <-closed)
		require.NoError(t, (<-call).err)
		require.Contains(t, m.sessionOf, "r")
	})
}

// If the engine has several writers, nobody waits for another caller's call that costs more than a share.
// Not parallel: as above.
func TestACallAboveItsShareIsCarriedOutBesideItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.onCommit = func(w runs.Writes) error {
			if len(w.NewRequests) > 1 {
				time.Sleep(time.Second)
			}
			return nil
		}
		c := loading(m, door.Options{Lanes: 2})
		defer c.Close()
		as := func(caller string) context.Context { return cpulimit.With(t.Context(), caller, cpulimit.Free) }
		suspended := func(n, approvals int) runs.Command {
			command := create(fmt.Sprint("greedy", n), fmt.Sprint("g", n))
			command.Suspend = &api.Suspension{}
			for i := range approvals {
				id := fmt.Sprint(i)
				command.Suspend.Approvals = append(command.Suspend.Approvals, api.ApprovalRequest{ID: id, ToolCallID: id, ToolName: "bash", Input: api.JSON(`{}`)})
			}
			return command
		}
		began := time.Now()
		require.NoError(t, (<-do(as("greedy"), c, suspended(0, 100))).err)
		require.Equal(t, time.Second, time.Since(began))
		synctest.Wait() // a lane that still counts as busy for a second would make the door use both lanes
		require.NoError(t, (<-do(as("quiet"), c, create("s", "r"))).err)
		require.NoError(t, (<-do(as("greedy"), c, suspended(1, 1))).err)
		began = time.Now()
		var greedy []<-chan result
		for n := range 4 {
			greedy = append(greedy, do(as("greedy"), c, suspended(2+n, 100)))
			synctest.Wait()
		}
		for n := range 4 {
			require.NoError(t, (<-do(as("quiet"), c, create(fmt.Sprint("s", n), fmt.Sprint("r", n)))).err)
		}
		require.Zero(t, time.Since(began), "the quiet caller does not wait")
		other := do(as("other"), c, suspended(9, 100))
		require.NoError(t, (<-other).err)
		require.Equal(t, 2*time.Second, time.Since(began), "it waits for the call in flight, and not for a backlog")
		for _, call := range greedy {
			require.NoError(t, (<-call).err)
		}
		require.Equal(t, 5*time.Second, time.Since(began), "one after the other")
	})
}
