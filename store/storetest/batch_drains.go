package storetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
)

// RequireWholeDrains ends and interrupts sessions in the same transaction as other commands that end
// runs which the engine has loaded for it, and requires that no run is left. The store and the engine
// share an empty database.
func RequireWholeDrains(t *testing.T, store runs.Store, engine door.Engine) {
	t.Helper()
	h := &harness{T: t, ctx: t.Context(), store: store}
	newID := Counter()
	inOneBatch := func(sessionID string, commands ...runs.Command) (replies []runs.Reply) {
		load := door.Load{SessionID: sessionID}
		for _, command := range commands {
			require.NoError(t, runs.Prepare(command, newID))
			load.Add(command.Needs())
		}
		batch, err := engine.Begin(h.ctx, []door.Load{load})
		require.NoError(t, err)
		defer batch.Rollback(h.ctx)
		var changes []runs.Change
		state := batch.State(sessionID)
		for _, command := range commands {
			change, reply, err := runs.Decide(state, command, batch.NowMs())
			require.NoError(t, err)
			state.Apply(change)
			changes, replies = append(changes, change), append(replies, reply)
		}
		require.NoError(t, batch.Commit(h.ctx, runs.Gather(changes)))
		return replies
	}
	queue := func(sessionID string, size, n int) {
		for i := range n {
			h.do(&runs.CreateRun{
				SessionID: sessionID, SessionGiven: true, RunID: numbered(sessionID, i), Input: api.JSON(`"` + strings.Repeat("x", size) + `"`),
			})
		}
	}
	over := func(sessionID string, n int) {
		for i := range n {
			require.True(t, model.Terminal(h.run(numbered(sessionID, i)).Run.Status), "run %d of %s is left", i, sessionID)
		}
	}

	const many = runs.DrainChunk + 50
	queue("rows", 1, many)
	inOneBatch("rows", &runs.CancelRun{RunID: "rows-005"}, &runs.EndSession{SessionID: "rows"})
	require.Len(t, h.dueEffects(10), 1)
	h.carryOut()
	over("rows", many)

	// The second run is loaded without what is beyond the limit of bytes.
	const large = 4
	queue("bytes", runs.DrainBytes/4*3, large)
	inOneBatch("bytes", &runs.CancelRun{RunID: "bytes-001"}, &runs.EndSession{SessionID: "bytes"})
	h.carryOut()
	over("bytes", large)

	// A part of a drain goes on, too.
	const parts = 2*runs.DrainChunk + 50
	queue("parts", 1, parts)
	h.do(&runs.EndSession{SessionID: "parts"})
	due := h.dueEffects(10)
	require.Len(t, due, 1)
	effect := h.claimEffect("parts", due[0])
	replies := inOneBatch("parts", &runs.CancelRun{RunID: numbered("parts", runs.DrainChunk+5)}, commandOf(effect))
	require.True(t, replies[1].More)
	for h.do(commandOf(effect)).More {
	}
	h.do(&runs.FinishEffect{SessionID: "parts", EffectID: due[0], Attempt: effect.Attempts})
	over("parts", parts)

	// Calls do not queue. Those that are raised after the interrupt stay.
	call := func(i int) {
		h.do(&runs.CreateRun{
			SessionID: "calls", SessionGiven: true, RunID: numbered("calls", i), Kind: api.KindCall, Input: api.JSON(`1`), Suspend: new(approvals("a")),
		})
	}
	for i := range many {
		call(i)
	}
	inOneBatch("calls", &runs.CancelRun{RunID: "calls-005"}, &runs.InterruptSession{SessionID: "calls"})
	require.Len(t, h.dueEffects(10), 1)
	for i := range many {
		call(many + i)
	}
	h.carryOut()
	over("calls", many)
	require.Equal(t, api.StatusWaitingForApproval, h.run(numbered("calls", many)).Run.Status)
}
