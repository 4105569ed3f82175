package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// unknownIDs are ids that nothing has. Postgres cannot compare some of them with a column.
var unknownIDs = []string{"nobody", "a b", "\x00", "\xff"}

var lifecycleTests = map[string]func(*harness){
	"run/from input to output": func(h *harness) {
		made := h.create("s", "r")
		require.Equal(h, api.StatusQueued, made.Run.Run.Status)
		require.Equal(h, []string{"r"}, h.claimable())
		h.clock.Advance(5)
		fence := h.claim("r")
		require.Equal(h, int64(1), fence)
		require.Empty(h, h.claimable())
		require.Equal(h, "r", h.session("s").Active.Run.RunID)
		h.clock.Advance(5)
		h.do(&runs.Complete{RunID: "r", Fence: fence, Output: api.JSON(`{"ok":true}`)})

		run := h.run("r").Run
		require.Equal(h, api.StatusCompleted, run.Status)
		require.Equal(h, `{"ok":true}`, string(run.Output))
		require.Equal(h, []int64{clockStart, clockStart + 5, clockStart + 10}, []int64{run.SubmittedAtMs, run.StartedAtMs, run.FinishedAtMs})
		require.Zero(h, run.LeaseExpiresAtMs)
		require.Nil(h, h.session("s").Active)
		require.Equal(h, []api.EventType{api.EventAccepted, api.EventQueued, api.EventStarted, api.EventCompleted}, typesOf(h.events("s")))
	},
	"run/unknown": func(h *harness) {
		for _, id := range append([]string{""}, unknownIDs...) {
			_, err := h.store.Run(h.ctx, id)
			requireCode(h, api.CodeRunNotFound, err)
			_, err = h.store.ClaimedRun(h.ctx, id)
			requireCode(h, api.CodeRunNotFound, err)
			_, _, err = h.store.SettledAfter(h.ctx, id, 0)
			requireCode(h, api.CodeRunNotFound, err)
			h.refuse(api.CodeRunNotFound, &runs.CancelRun{RunID: id})
			h.refuse(api.CodeRunNotFound, &runs.ClaimRun{RunID: id, WorkerID: "w"})
		}
		for _, id := range unknownIDs {
			_, _, err := h.store.EventsWithin(h.ctx, reads.EventQuery{RunID: id, Limit: 10, MaxBytes: api.MaxReplyBytes})
			requireCode(h, api.CodeRunNotFound, err)
		}
	},
	"run/terminal moves are absorbed": func(h *harness) {
		h.create("s", "r")
		require.False(h, h.do(&runs.CancelRun{RunID: "r", Actor: person}).Existing)
		events := len(h.events("s"))
		require.True(h, h.do(&runs.CancelRun{RunID: "r", Actor: person}).Existing)
		require.Len(h, h.events("s"), events)
		h.refuse(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	},
	"run/a failed run is retried, before those that are queued": func(h *harness) {
		h.create("s", "r-1")
		h.create("s", "r-2")
		h.do(&runs.Fail{RunID: "r-1", Fence: h.claim("r-1"), Error: "broken"})
		require.Equal(h, []string{"r-2"}, h.claimable())
		h.do(&runs.RetryRun{RunID: "r-1", Actor: person, Key: "k"})
		require.Equal(h, []string{"r-1"}, h.claimable())
		require.True(h, h.do(&runs.RetryRun{RunID: "r-1", Actor: person, Key: "k"}).Existing)
		h.refuse(api.CodeRunStateConflict, &runs.RetryRun{RunID: "r-1"})
		run := h.run("r-1").Run
		require.Equal(h, "broken", run.LastError)
		require.Empty(h, run.Error)
		require.Zero(h, run.FinishedAtMs)
		h.do(&runs.Complete{RunID: "r-1", Fence: h.claim("r-1")})
		require.Equal(h, []string{"r-2"}, h.claimable())
	},
	"queue/first come, first served": func(h *harness) {
		for n := range 5 {
			require.Equal(h, int64(n), h.create("s", numbered("r", n)).Run.Run.QueuedAhead)
		}
		for n := range 5 {
			require.Equal(h, []string{numbered("r", n)}, h.claimable(), "only the head of the queue is claimable")
			for behind := n; behind < 5; behind++ {
				require.Equal(h, int64(behind-n), h.run(numbered("r", behind)).Run.QueuedAhead)
			}
			if n < 4 {
				h.refuse(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: numbered("r", n+1), WorkerID: "w"})
			}
			fence := h.claim(numbered("r", n))
			require.Empty(h, h.claimable(), "no second run of the session before its first is over")
			h.do(&runs.Complete{RunID: numbered("r", n), Fence: fence})
		}
		require.Equal(h, int64(0), h.session("s").Session.QueuedCount)
	},
	"queue/a cancelled run leaves no gap": func(h *harness) {
		for n := range 4 {
			h.create("s", numbered("r", n))
		}
		h.do(&runs.CancelRun{RunID: "r-001"})
		require.Equal(h, []string{"r-000", "r-002", "r-003"}, h.session("s").QueuedRunIDs)
		require.Equal(h, int64(1), h.run("r-002").Run.QueuedAhead)
		h.do(&runs.CancelRun{RunID: "r-000"})
		require.Equal(h, []string{"r-002"}, h.claimable())
	},
	"queue/inline and claim refuse to wait in line": func(h *harness) {
		h.create("s", "r-1")
		h.refuse(api.CodeSessionBusy, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Inline: true})
		h.refuse(api.CodeRunNotClaimable, &runs.CreateRun{
			SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
		})
		require.Len(h, h.session("s").QueuedRunIDs, 1)
	},
	"run/made, claimed and waiting in one call": func(h *harness) {
		suspension := approvals("a")
		suspension.Checkpoint = api.JSON(`{"at":1}`)
		reply := h.do(&runs.CreateRun{
			SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`),
			Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension,
		})
		require.Nil(h, reply.Claim)
		record := h.run("r")
		require.Equal(h, api.StatusWaitingForApproval, record.Run.Status)
		require.Len(h, record.Requests, 1)
		claimed, err := h.store.ClaimedRun(h.ctx, "r")
		require.NoError(h, err)
		require.Equal(h, `{"at":1}`, string(claimed.Run.Checkpoint))
		require.Equal(h, `1`, string(claimed.Run.Input))
	},
	"run/ids are unique across sessions": func(h *harness) {
		h.create("s-1", "r")
		h.refuse(api.CodeIDConflict, &runs.CreateRun{SessionID: "s-2", SessionGiven: true, RunID: "r", Input: api.JSON(`"do it"`)})
		_, err := h.store.Session(h.ctx, "s-2")
		requireCode(h, api.CodeSessionNotFound, err)
		h.refuse(api.CodeIDConflict, &runs.CreateRun{SessionID: "s-1", SessionGiven: true, RunID: "r", Input: api.JSON(`"else"`)})
		require.True(h, h.create("s-1", "r").Existing)
		require.Len(h, h.session("s-1").QueuedRunIDs, 1)
	},
}
