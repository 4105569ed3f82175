package claims

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestAClaimIsHandedWhatItReaches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{scanLimit: 3})
		scope := reads.Scope{SessionPrefixes: []string{"session-ours"}}
		// Other scopes have more runs of the same agent than one query returns.
		for i := range 20 {
			store.add(string(rune('a'+i))+"theirs", "agent", nowMs()-1000)
		}
		store.add("ours-1", "agent", nowMs())
		bound := Request{WorkerID: "w", AgentIDs: []string{"agent"}, Scope: scope, Wait: maxWait}
		require.Equal(t, []string{"ours-1"}, claim(d, bound).runIDs(t))

		// It waits, and runs outside of its scope do not wake it.
		waits := claim(d, bound)
		synctest.Wait()
		store.announce("theirs", "agent")
		synctest.Wait()
		require.False(t, waits.isDone())
		require.Nil(t, d.Take([]reads.Claimable{store.add("theirs too", "agent", nowMs())})[0])
		store.announce("ours-2", "agent")
		require.Equal(t, []string{"ours-2"}, waits.runIDs(t))
		require.Zero(t, store.refused)

		waits = claim(d, bound)
		synctest.Wait()
		taken := d.Take([]reads.Claimable{store.add("ours-3", "agent", nowMs())})
		require.Equal(t, scope, taken[0].Scope, "it is looked at again under the lock")
		reply, err := store.Do(t.Context(), taken[0])
		require.NoError(t, err)
		d.Taken(taken[0], reply, nil)
		require.Equal(t, []string{"ours-3"}, waits.runIDs(t))

		// Without a scope all the others are visible.
		all := claim(d, Request{WorkerID: "w", AgentIDs: []string{"agent"}, MaxRuns: 3, Wait: time.Second})
		require.Len(t, all.runIDs(t), 3)

		_, err = d.Claim(t.Context(), Request{WorkerID: "w", Scope: scope})
		require.Equal(t, api.CodeInvalidRequest, refusal.CodeOf(err), "it names its agents")
		own := claim(d, Request{WorkerID: "w", Scope: reads.Scope{AgentIDs: []string{"other"}}})
		require.Empty(t, own.runIDs(t), "the scope names its own runs")
	})
}
