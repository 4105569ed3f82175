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

// A claim at another replica counts like one of this process, and is not told back.
func TestSilenceOfOtherReplicas(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		here, _ := start(t, store, Options{})
		there, _ := start(t, store, Options{})
		var toldMs int64
		tell := func() reads.Asked {
			<-time.After(time.Millisecond)
			asked, nowMs := there.AskedSince(toldMs)
			toldMs = nowMs
			here.HearAsked(asked)
			return asked
		}
		silence := func(agentID string) Silence {
			s := here.SilenceOf(agentID)
			s.Ms -= s.Ms % 1000
			return s
		}
		named := func(agentIDs ...string) (all []reads.AskedAgent) {
			for _, agentID := range agentIDs {
				all = append(all, reads.AskedAgent{AgentID: agentID, Named: true})
			}
			return all
		}
		const minute = 60_000
		minutes := func(n int64) { <-time.After(time.Duration(n) * time.Minute) }

		minutes(5)
		require.Equal(t, Silence{Ms: 5 * minute}, silence("coder"))
		require.Equal(t, reads.Asked{Any: true}, tell(), "the first telling")
		require.Zero(t, silence("coder").Ms, "it may have asked there before")
		minutes(1)
		require.Equal(t, reads.Asked{}, tell(), "nothing")
		require.Equal(t, Silence{Ms: minute}, silence("coder"))

		drain(t, there, "coder")
		require.Equal(t, named("coder"), tell().Agents)
		require.Equal(t, Silence{Named: true}, silence("coder"))
		require.Equal(t, Silence{Ms: minute}, silence("other"))
		minutes(2)
		require.Empty(t, tell().Agents)
		require.Equal(t, Silence{Ms: 2 * minute, Named: true}, silence("coder"))
		asked, _ := here.AskedSince(1)
		require.Empty(t, asked.Agents, "only its own claims")

		waits := claim(there, worker("coder"))
		tell()
		<-time.After(5 * time.Second)
		require.Equal(t, named("coder"), tell().Agents, "it still waits")
		require.Zero(t, silence("coder").Ms)
		waits.cancel()
		<-waits.done

		waits = claim(there, worker())
		require.Contains(t, tell().Agents, reads.AskedAgent{}, "a worker of all agents")
		waits.cancel()
		<-waits.done
		require.Zero(t, silence("other").Ms)
		minutes(1)
		tell()
		minutes(1)
		require.Equal(t, Silence{Ms: minute}, silence("other"))

		store.add("r1", "by-id", nowMs())
		_, err := there.ClaimRun(t.Context(), "r1", "w", 0, reads.Scope{})
		require.NoError(t, err)
		tell()
		minutes(10)
		require.Equal(t, []reads.AskedAgent{{AgentID: "by-id", ByRun: true}}, tell().Agents, "each time: its worker asks when the run is decided")
		require.Zero(t, silence("by-id").Ms)

		for i := range maxAsked {
			drain(t, there, "many"+strconv.Itoa(i))
		}
		require.Equal(t, reads.Asked{Any: true}, tell(), "too many to remember")
		require.Zero(t, silence("other").Ms)
		for i := range maxAsked + 1 {
			here.HearAsked(reads.Asked{Agents: named("heard" + strconv.Itoa(i))})
		}
		require.LessOrEqual(t, len(here.askedOthers.byAgent), maxAsked)
	})
}
