package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var sessionTests = map[string]func(*harness){
	"session/made once": func(h *harness) {
		made := h.do(&runs.CreateSession{SessionID: "s", AgentID: "coder", ParentSessionID: "root", Metadata: api.JSON(`{"a":1}`)})
		require.False(h, made.Existing)
		again := h.do(&runs.CreateSession{SessionID: "s"})
		require.True(h, again.Existing)
		h.refuse(api.CodeIDConflict, &runs.CreateSession{SessionID: "s", AgentID: "other"})

		record := h.session("s")
		require.Equal(h, "coder", record.Session.AgentID)
		require.Equal(h, "root", record.Session.ParentSessionID)
		require.JSONEq(h, `{"a":1}`, string(record.Session.Metadata))
		require.Equal(h, int64(clockStart), record.Session.CreatedAtMs)
		require.Nil(h, record.Active)
		require.Empty(h, record.QueuedRunIDs)
	},
	"session/unknown": func(h *harness) {
		for _, id := range append([]string{""}, unknownIDs...) {
			_, err := h.store.Session(h.ctx, id)
			requireCode(h, api.CodeSessionNotFound, err)
			_, _, err = h.store.EventsWithin(h.ctx, reads.EventQuery{SessionID: id, Limit: 10, MaxBytes: api.MaxReplyBytes})
			requireCode(h, api.CodeSessionNotFound, err)
		}
		for _, id := range unknownIDs {
			h.refuse(api.CodeSessionNotFound, &runs.EndSession{SessionID: id})
			h.refuse(api.CodeSessionNotFound, &runs.InterruptSession{SessionID: id})
			h.refuse(api.CodeSessionNotFound, &runs.ResolveApprovals{SessionID: id, Resolutions: allow("a")})
		}
	},
	"session/end cancels the active and every queued run": func(h *harness) {
		h.wait("s", "r-0", approvals("a"))
		for n := 1; n <= 5; n++ {
			h.create("s", numbered("queued", n))
		}
		ended := h.do(&runs.EndSession{SessionID: "s", Reason: "enough", Actor: person})
		require.False(h, ended.Existing)
		require.Equal(h, clockStart, int(ended.Session.EndedAtMs))

		record := h.session("s")
		require.Nil(h, record.Active)
		require.Empty(h, record.QueuedRunIDs)
		require.Zero(h, record.Session.QueuedCount)
		require.Equal(h, api.StatusCancelled, h.run("r-0").Run.Status)
		for n := 1; n <= 5; n++ {
			require.Equal(h, api.StatusCancelled, h.run(numbered("queued", n)).Run.Status)
		}
		require.Empty(h, h.claimable())
		settled := h.settledAfter("r-0", 0)
		require.Len(h, settled, 1)
		require.Equal(h, api.OutcomeCancelled, settled[0].Outcome)

		events := len(h.events("s"))
		require.True(h, h.do(&runs.EndSession{SessionID: "s"}).Existing)
		require.Len(h, h.events("s"), events, "ending again writes nothing")
		h.refuse(api.CodeSessionEnded, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`)})
	},
	"session/interrupt ends the active run and the next may go": func(h *harness) {
		require.False(h, h.do(&runs.CreateSession{SessionID: "s"}).Existing)
		require.False(h, h.do(&runs.InterruptSession{SessionID: "s"}).Interrupted)
		h.wait("s", "r-1", questions("q"))
		h.create("s", "r-2")
		require.Empty(h, h.claimable())
		require.True(h, h.do(&runs.InterruptSession{SessionID: "s", Reason: "stop", Actor: person}).Interrupted)
		require.Equal(h, api.StatusInterrupted, h.run("r-1").Run.Status)
		require.Equal(h, []string{"r-2"}, h.claimable())
	},
}
