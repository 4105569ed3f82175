package door_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

// inFlight returns how many lanes are busy.
func inFlight(c *door.Door) (lanes int) {
	for _, state := range c.Lanes() {
		if state.Busy > 0 {
			lanes++
		}
	}
	return lanes
}

// Few callers share the transactions of one lane. If that lane is blocked, the others are used.
func TestFewCommandsGoInOneLane(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		release := held(m)
		c := loading(m, door.Options{Lanes: 2})
		defer c.Close()
		var calls []<-chan result
		send := func(kind string) {
			for i := range 32 {
				calls = append(calls, do(t.Context(), c, create(fmt.Sprintf("%s-%d", kind, i), fmt.Sprintf("run-%s-%d", kind, i))))
			}
			synctest.Wait()
		}
		first := do(t.Context(), c, create("s", "r"))
		synctest.Wait()
		send("early")
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, 1, inFlight(c))
		time.Sleep(time.Second)
		send("late")
		time.Sleep(time.Millisecond)
		require.Equal(t, 2, inFlight(c), "the first lane has not moved for a second")
		release()
		require.NoError(t, (<-first).err)
		for _, call := range calls {
			require.NoError(t, (<-call).err)
		}
	})
}

// Many callers get a second lane, and lose it when there are few again.
func TestManyCommandsGoInAllLanes(t *testing.T) {
	inBubble(t, func(t *testing.T, m *memory) {
		m.onCommit = func(runs.Writes) error { time.Sleep(10 * time.Millisecond); return nil }
		c := loading(m, door.Options{Lanes: 2})
		defer c.Close()
		round := 0
		rounds := func(callers, rounds int) (together int) {
			for range rounds {
				round++
				var calls []<-chan result
				for i := range callers {
					// The first command is in flight while the others collect.
					calls = append(calls, do(t.Context(), c, create(fmt.Sprintf("s-%d-%d", round, i), fmt.Sprintf("r-%d-%d", round, i))))
					if i == 0 {
						synctest.Wait()
					}
				}
				synctest.Wait()
				time.Sleep(15 * time.Millisecond)
				together = max(together, inFlight(c))
				for _, call := range calls {
					require.NoError(t, (<-call).err)
				}
			}
			return together
		}
		// A round is two batches: its first command, and the others.
		require.Equal(t, 1, rounds(4, 150), "few")
		require.Equal(t, 2, rounds(40, 300), "many")
		rounds(4, 300)
		require.Equal(t, 1, rounds(4, 1), "few again")
	})
}
