package runs_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

func (h *house) positions(runIDs ...string) []int64 {
	h.t.Helper()
	positions := make([]int64, len(runIDs))
	for i, runID := range runIDs {
		positions[i] = (&model.RunRecord{Run: *h.run(runID)}).View().QueuedPosition
	}
	return positions
}

// First come, first served: a session's second run never starts before the first is finished.
func TestQueue(t *testing.T) {
	h := parallelHouse(t)
	for _, runID := range []string{"d", "c", "b", "a"} {
		h.create(runID)
	}
	require.Equal(t, []int64{1, 2, 3, 4}, h.positions("d", "c", "b", "a"))
	var queued struct {
		Position int64 `json:"position"`
	}
	for _, event := range h.events["s"] {
		if event.RunID == "a" && event.Type == api.EventQueued {
			require.NoError(t, json.Unmarshal(event.Body, &queued))
		}
	}
	require.Equal(t, int64(4), queued.Position)

	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "c", WorkerID: "w"})
	h.claim("d")
	require.Equal(t, []int64{0, 1, 2, 3}, h.positions("d", "c", "b", "a"))
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "c", WorkerID: "w"})
	h.must(suspend("d", 1, approval("x")))
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "c", WorkerID: "w"})

	// When a run leaves from the middle, the runs behind it move up.
	h.must(&runs.CancelRun{RunID: "b"})
	require.Equal(t, []int64{1, 0, 2}, h.positions("c", "b", "a"))
	require.Zero(t, h.run("c").ClaimableAtMs)
	h.nowMs += 7
	h.must(&runs.CancelRun{RunID: "d"})
	require.Equal(t, h.nowMs, h.run("c").ClaimableAtMs)
	require.Zero(t, h.run("a").ClaimableAtMs)
	// The head may leave without having started.
	h.must(&runs.CancelRun{RunID: "c"})
	require.Equal(t, h.nowMs, h.run("a").ClaimableAtMs)
	require.Equal(t, []int64{1}, h.positions("a"))
}

func TestWhatPromotesTheNext(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]runs.Command{
		"complete":        &runs.Complete{RunID: "r", Fence: 1},
		"fail":            &runs.Fail{RunID: "r", Fence: 1, Error: "e"},
		"cancel":          &runs.CancelRun{RunID: "r"},
		"interrupt":       &runs.InterruptSession{SessionID: "s", Reason: "stop"},
		"cancel question": &runs.CancelQuestion{RunID: "r", RequestID: "q"},
		"expiry":          &runs.ExpireRequests{RunID: "r"},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			h.create("next")
			h.create("last")
			h.must(hold("r", 1, expiringQuestion("q", startMs+10)))
			if name == "expiry" {
				h.nowMs += 10
			}
			h.must(end)
			require.True(t, model.Terminal(h.run("r").Status))
			require.Equal(t, h.nowMs, h.run("next").ClaimableAtMs)
			require.Zero(t, h.run("last").ClaimableAtMs)
			require.Equal(t, []int64{1, 2}, h.positions("next", "last"))
			h.claim("next")
		})
	}
}

func TestInterrupt(t *testing.T) {
	h := parallelHouse(t).create("r")
	require.False(t, h.must(&runs.InterruptSession{SessionID: "s"}).Interrupted, "a queued run is not active")
	h.claim("r")
	h.must(suspend("r", 1, approval("a"), question("q")))
	reply := h.must(&runs.InterruptSession{SessionID: "s", Reason: "enough", Actor: runs.Actor{Name: "ann"}})
	require.True(t, reply.Interrupted)
	require.Empty(t, reply.Session.ActiveRunID)
	require.Equal(t, "enough", h.run("r").Error)
	for _, id := range []string{"a", "q"} {
		recorded := h.request("r", id).Recorded()
		require.Equal(t, api.OutcomeCancelled, recorded.Outcome)
		require.Equal(t, api.ViaInterrupt, recorded.Via)
		require.Equal(t, "ann", recorded.ResolvedBy)
	}
	require.False(t, h.must(&runs.InterruptSession{SessionID: "s"}).Interrupted)
	require.Equal(t, api.EventInterrupted, h.eventTypes("r")[len(h.eventTypes("r"))-1])
	for _, bad := range []runs.Command{
		&runs.InterruptSession{SessionID: "s", Reason: "\x00"}, &runs.EndSession{SessionID: "s", Reason: "\x00"}, &runs.CancelRun{RunID: "r", Reason: "\x00"},
	} {
		require.Equal(t, []string{"/reason"}, pointersOf(h.refused(api.CodeInvalidRequest, bad)))
	}
}

func TestEndSession(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", "closing time"} {
		h := newHouse(t).wait("r", approval("a"), question("q"))
		h.create("next")
		h.create("last")
		h.nowMs += 3
		reply := h.must(&runs.EndSession{SessionID: "s", Reason: reason})
		require.Equal(t, h.nowMs, reply.Session.EndedAtMs)
		require.Zero(t, reply.Session.QueuedCount)
		for _, runID := range []string{"r", "next", "last"} {
			require.Equal(t, api.StatusCancelled, h.run(runID).Status)
			require.Zero(t, h.run(runID).ClaimableAtMs)
			if reason != "" {
				require.Equal(t, reason, h.run(runID).Error)
			}
		}
		require.Equal(t, api.ViaEnd, h.request("r", "a").Recorded().Via)
		_, change := h.decided(&runs.EndSession{SessionID: "s"})
		require.True(t, change.Empty())
		refusal := h.refused(api.CodeSessionEnded, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`)})
		require.Equal(t, "session s has ended", refusal.Detail)
		require.True(t, h.must(&runs.CreateSession{SessionID: "s"}).Existing)
	}
}

func TestCreateSession(t *testing.T) {
	h := parallelHouse(t)
	made := h.must(&runs.CreateSession{SessionID: "s", AgentID: "coder", ParentSessionID: "root", Metadata: api.JSON(`{"a":1}`)})
	require.False(t, made.Existing)
	// An absent agent or parent matches; different metadata is ignored.
	for _, same := range []*runs.CreateSession{
		{SessionID: "s"}, {SessionID: "s", AgentID: "coder"}, {SessionID: "s", ParentSessionID: "root", Metadata: api.JSON(`{"b":2}`)},
	} {
		reply := h.must(same)
		require.True(t, reply.Existing)
		require.Equal(t, `{"a":1}`, string(reply.Session.Metadata))
	}
	h.refused(api.CodeIDConflict, &runs.CreateSession{SessionID: "s", AgentID: "other"})
	h.refused(api.CodeIDConflict, &runs.CreateSession{SessionID: "s", ParentSessionID: "other"})
	require.Equal(t, []string{"/session_id", "/agent_id", "/parent_session_id", "/metadata"}, pointersOf(
		h.refused(api.CodeInvalidRequest, &runs.CreateSession{SessionID: "a/b", AgentID: ".", ParentSessionID: "ä", Metadata: api.JSON(`1`)})))
	reply := h.must(&runs.CreateSession{Metadata: api.JSON(`null`)})
	require.NotEmpty(t, reply.Session.SessionID)
	require.Equal(t, model.DefaultAgentID, reply.Session.AgentID)
	require.Nil(t, reply.Session.Metadata)

	h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	require.Equal(t, "coder", h.run("r").AgentID, "a run has its session's agent")
	h.must(&runs.CreateRun{SessionID: "new", SessionGiven: true, RunID: "x", Input: api.JSON(`1`), AgentID: "tester"})
	require.Equal(t, "tester", h.states["new"].Session.AgentID, "a session made for a run has the run's agent")
}

// Claim and suspend on creation save round trips and act in one decision.
func TestCreateRunAtOnce(t *testing.T) {
	t.Parallel()
	claim := func() *api.ClaimOptions { return &api.ClaimOptions{WorkerID: "w", LeaseMs: 5000} }
	suspension := func(hold bool) *api.Suspension {
		return &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}, Hold: hold}
	}
	h := newHouse(t)
	reply := h.must(&runs.CreateRun{RunID: "claimed", Input: api.JSON(`1`), Claim: claim()})
	require.Equal(t, "1", reply.Claim.Lease.Fence)
	require.Equal(t, int64(startMs+5000), reply.Claim.Lease.ExpiresAtMs)
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	require.Equal(t, []api.EventType{"accepted", "started"}, h.eventTypes("claimed"))

	reply = h.must(&runs.CreateRun{RunID: "waiting", Input: api.JSON(`1`), Suspend: suspension(false)})
	require.Nil(t, reply.Claim)
	require.Equal(t, api.StatusWaitingForApproval, reply.Run.Run.Status)
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "waiting", Fence: 0})
	h.must(allow("waiting", "a"))
	require.Equal(t, int64(1), h.claim("waiting"))

	reply = h.must(&runs.CreateRun{RunID: "both", Input: api.JSON(`1`), Claim: claim(), Suspend: suspension(false)})
	require.Nil(t, reply.Claim, "the lease has ended with the suspension")
	require.Equal(t, api.StatusWaitingForApproval, reply.Run.Run.Status)

	reply = h.must(&runs.CreateRun{RunID: "held", Input: api.JSON(`1`), Claim: claim(), Suspend: suspension(true)})
	require.Equal(t, api.StatusWaitingForApproval, reply.Claim.Run.Status)
	require.Equal(t, api.StatusRunning, h.must(allow("held", "a")).Run.Run.Status)
	h.must(&runs.Complete{RunID: "held", Fence: 1})

	require.Equal(t, []string{"/suspend/hold"}, pointersOf(h.refused(api.CodeInvalidRequest, &runs.CreateRun{Input: api.JSON(`1`), Suspend: suspension(true)})))
	h.create("queued")
	for _, late := range []*runs.CreateRun{{Claim: claim()}, {Suspend: suspension(false)}} {
		late.SessionID, late.SessionGiven, late.Input = "s", true, api.JSON(`1`)
		h.refused(api.CodeRunNotClaimable, late)
	}
	h.refused(api.CodeSessionBusy, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Inline: true})
}

func TestCreateRunFaults(t *testing.T) {
	t.Parallel()
	refusal := newHouse(t).refused(api.CodeInvalidRequest, &runs.CreateRun{
		SessionID: "..", RunID: "a b", AgentID: "?", ParentRunID: "/", Kind: "goal", Metadata: api.JSON(`1`),
		SourcePlugin: "\x00", SourceKind: "\x00", ActorID: "\x00", Key: "\x00",
		Claim: &api.ClaimOptions{LeaseMs: 1}, Suspend: &api.Suspension{},
	})
	require.Equal(t, []string{
		"/session_id", "/run_id", "/agent_id", "/parent_run_id", "/kind", "/input", "/metadata", "/source_plugin", "/source_kind", "/actor_id",
		"/claim/worker_id", "/claim/lease_ms", "/suspend/approvals",
	}, pointersOf(refusal))
	newHouse(t).refused(api.CodeInvalidIdempotencyKey, &runs.CreateRun{Input: api.JSON(`1`), Key: "\x00"})
}
