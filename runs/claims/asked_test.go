package claims

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

func TestSilenceOfWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		minutes := func(n int64) { <-time.After(time.Duration(n) * time.Minute) }
		silence := func(agentID string) Silence {
			synctest.Wait()
			s := d.SilenceOf(agentID)
			s.Ms -= s.Ms % 1000
			return s
		}
		minutes(1)
		require.Equal(t, Silence{Ms: 60_000}, silence("a"), "since the start")

		asks := claim(d, worker("a", "b"))
		require.Equal(t, Silence{Named: true}, silence("a"))
		require.Equal(t, Silence{Named: true}, silence("b"))
		require.Equal(t, Silence{Ms: 60_000}, silence("other"))
		require.Empty(t, asks.runIDs(t))
		require.Equal(t, Silence{Named: true}, silence("a"), "it has just left")
		minutes(2)
		require.Equal(t, Silence{Ms: 120_000, Named: true}, silence("a"), "after its wait, which took 20 s")

		asks = claim(d, worker())
		require.Equal(t, Silence{Named: true}, silence("a"), "a worker of all agents")
		require.Equal(t, Silence{}, silence("other"))
		asks.cancel()
		<-asks.done
		minutes(1)
		require.Equal(t, Silence{Ms: 60_000, Named: true}, silence("a"))

		drain(t, d, "a")
		require.Equal(t, Silence{Named: true}, silence("a"), "a worker that does not wait")

		store.add("r1", "by-id", nowMs())
		_, err := d.ClaimRun(t.Context(), "r1", "w", 0, reads.Scope{})
		require.NoError(t, err)
		minutes(10)
		require.Equal(t, Silence{}, silence("by-id"), "it asks for its run once that is decided")
	})
}

// Callers that name many agents do not make a worker that is there look absent.
func TestSilenceIsForgottenAtItsLimit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, _ := start(t, newFakeStore(), Options{})
		stays := claim(d, Request{WorkerID: "w", AgentIDs: []string{"stays"}, Wait: maxWait})
		drain(t, d, "left")
		<-time.After(30 * time.Second)
		for i := range maxAsked {
			drain(t, d, "many"+strconv.Itoa(i))
		}
		synctest.Wait()
		require.LessOrEqual(t, len(d.asked.byAgent), maxAsked)
		require.Zero(t, d.SilenceOf("left").Ms, "it may have asked")
		require.Zero(t, d.SilenceOf("stays").Ms)
		<-time.After(10 * time.Second)
		require.InDelta(t, 10_000, d.SilenceOf("left").Ms, 1000)
		require.Zero(t, d.SilenceOf("stays").Ms)
		require.Empty(t, stays.runIDs(t))
		require.Zero(t, d.SilenceOf("stays").Ms)
	})
}
