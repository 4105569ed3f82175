package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Attached waiting: the worker stays, raises more requests, and continues under the same
// lease.
func TestAttachedWait(t *testing.T) {
	h := parallelHouse(t).start("r")
	reply := h.must(hold("r", 1, approval("a")))
	view := reply.Run.View()
	require.Equal(t, api.StatusWaitingForApproval, view.Status)
	require.Equal(t, &api.LeaseView{WorkerID: "worker", ExpiresAtMs: startMs + api.DefaultLeaseMs}, view.Lease)

	require.Equal(t, api.StatusWaitingForUserQuestion, h.must(hold("r", 1, question("q"))).Run.Run.Status)
	h.must(hold("r", 1, approval("b")))
	require.Equal(t, []string{"a", "b"}, h.record("r").View().PendingApprovalIDs)
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})

	h.must(allow("r", "b"))
	require.Equal(t, []string{"b"}, settledIDs(h.record("r")), "each decision is handed over as it falls")
	h.nowMs += 10_000
	require.Equal(t, h.nowMs+api.DefaultLeaseMs, h.must(&runs.Heartbeat{RunID: "r", Fence: 1}).LeaseExpiresAtMs)
	h.must(decline("r", "q"))
	run := h.must(deny("r", "a")).Run.Run
	require.Equal(t, api.StatusRunning, run.Status)
	require.Equal(t, int64(1), run.Fence)
	require.Equal(t, int64(1), run.Attempt)
	require.Equal(t, run.LeaseExpiresAtMs, run.ClaimableAtMs)
	require.Equal(t, []string{"b", "q", "a"}, settledIDs(h.record("r")))
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})
	// The holder continues and waits again.
	h.must(hold("r", 1, approval("c")))
	h.must(allow("r", "c"))
	require.Equal(t, api.StatusCompleted, h.must(&runs.Complete{RunID: "r", Fence: 1}).Run.Run.Status)
}

// settledIDs returns the Resume's request ids in the order of the decisions.
func settledIDs(record *model.RunRecord) []string {
	ids := make([]string, record.Run.SettledCount)
	for _, request := range record.Requests {
		if !request.Open() {
			ids[request.SettledNumber-1] = request.RequestID
		}
	}
	return ids[record.Run.ResumeAfter:]
}

// After a crash the run behaves as if it had been suspended without hold.
func TestAttachedWorkerDies(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a"), approval("b")))
	h.must(allow("r", "a"))
	h.nowMs += api.DefaultLeaseMs
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status, "what is open stays open")

	h.must(deny("r", "b"))
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"}).Claim
	require.Equal(t, int64(1), claim.Attempt)
	require.Len(t, claim.Resume.Approvals, 2, "all that was settled since the last checkpoint")
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
}

// A slow worker can renew its lapsed lease, whether the run waits or not.
func TestAttachedLeaseRevives(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a")))
	h.nowMs += 2 * api.DefaultLeaseMs
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
	require.Equal(t, h.nowMs+api.DefaultLeaseMs, h.must(allow("r", "a")).Run.Run.ClaimableAtMs)

	h.must(hold("r", 1, approval("b")))
	h.nowMs += 2 * api.DefaultLeaseMs
	require.Equal(t, h.nowMs, h.must(allow("r", "b")).Run.Run.ClaimableAtMs)
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
	require.Equal(t, int64(1), h.run("r").Attempt)
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})
}

// Resolutions that a checkpoint includes are not handed over again. settled_after marks how far
// it includes them.
func TestSettledAfter(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T) *house {
		h := newHouse(t).start("r")
		h.must(hold("r", 1, approval("a"), approval("b"), approval("c"), approval("d")))
		h.must(allow("r", "a", "b"))
		return h
	}
	resumed := func(h *house) []string {
		h.must(allow("r", "c", "d"))
		h.nowMs += 10 * api.DefaultLeaseMs
		reply := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"})
		ids := []string{}
		for _, settled := range reply.Claim.Resume.Approvals {
			ids = append(ids, settled.Request.ID)
		}
		return ids
	}
	checkpoint := api.JSON(`{"step":1}`)
	for name, test := range map[string]struct {
		command runs.Command
		want    []string
	}{
		"no checkpoint":                  {&runs.Heartbeat{RunID: "r", Fence: 1}, []string{"a", "b", "c", "d"}},
		"settled_after alone":            {&runs.Heartbeat{RunID: "r", Fence: 1, SettledAfter: ms(2)}, []string{"a", "b", "c", "d"}},
		"a checkpoint swallows nothing":  {&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: checkpoint}, []string{"a", "b", "c", "d"}},
		"a checkpoint took in all":       {&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: checkpoint, SettledAfter: ms(2)}, []string{"c", "d"}},
		"a checkpoint took in one":       {&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: checkpoint, SettledAfter: ms(1)}, []string{"b", "c", "d"}},
		"a checkpoint took in none":      {&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: checkpoint, SettledAfter: ms(0)}, []string{"a", "b", "c", "d"}},
		"no more than there is":          {&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: checkpoint, SettledAfter: ms(99)}, []string{"c", "d"}},
		"a release swallows nothing":     {&runs.Release{RunID: "r", Fence: 1, Checkpoint: checkpoint}, []string{"a", "b", "c", "d"}},
		"a release took in one":          {&runs.Release{RunID: "r", Fence: 1, Checkpoint: checkpoint, SettledAfter: ms(1)}, []string{"b", "c", "d"}},
		"a release without what it took": {&runs.Release{RunID: "r", Fence: 1, SettledAfter: ms(2)}, []string{"a", "b", "c", "d"}},
		"a release without checkpoint":   {&runs.Release{RunID: "r", Fence: 1}, []string{"a", "b", "c", "d"}},
		"raising more with checkpoint":   {withCheckpoint(hold("r", 1, approval("e")), checkpoint, ms(1)), []string{"b", "c", "d"}},
		"raising more without":           {hold("r", 1, approval("e")), []string{"a", "b", "c", "d"}},
		"leaving while more is open":     {suspend("r", 1, approval("e")), []string{"a", "b", "c", "d"}},
		"raising more swallows nothing":  {withCheckpoint(hold("r", 1, approval("e")), checkpoint, nil), []string{"a", "b", "c", "d"}},
		"leaving swallows nothing":       {withCheckpoint(suspend("r", 1, approval("e")), checkpoint, nil), []string{"a", "b", "c", "d"}},
		"leaving, having taken in all":   {withCheckpoint(suspend("r", 1, approval("e")), checkpoint, ms(2)), []string{"c", "d"}},
		"leaving, having taken in none":  {withCheckpoint(suspend("r", 1, approval("e")), checkpoint, ms(0)), []string{"a", "b", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := waiting(t)
			h.must(test.command)
			if _, raises := test.command.(*runs.Suspend); raises {
				h.must(deny("r", "e"))
				test.want = append(append([]string{}, test.want[:len(test.want)-2]...), "e", "c", "d")
			}
			require.Equal(t, test.want, resumed(h))
		})
	}
}

// The first suspension with a checkpoint, attached or not, includes the resolutions from the
// claim, and no later ones.
func TestACheckpointTakesInWhatCameWithTheClaim(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(suspend("r", 1, approval("a")))
	h.must(allow("r", "a"))
	require.Equal(t, int64(2), h.claim("r"))
	h.must(withCheckpoint(hold("r", 2, approval("b"), approval("c")), api.JSON(`1`), nil))
	h.must(allow("r", "b"))
	h.must(&runs.Heartbeat{RunID: "r", Fence: 2, Checkpoint: api.JSON(`2`)})
	h.must(allow("r", "c"))
	h.nowMs += 10 * api.DefaultLeaseMs
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"}).Claim
	var ids []string
	for _, settled := range claim.Resume.Approvals {
		ids = append(ids, settled.Request.ID)
	}
	require.Equal(t, []string{"b", "c"}, ids)
	require.Equal(t, []string{"/settled_after"}, pointersOf(h.refused(api.CodeInvalidRequest, &runs.Release{RunID: "r", Fence: 3, SettledAfter: ms(-1)})))
}

// A worker that does not wait attached may also say what its checkpoint includes.
func TestSettledAfterWithoutHold(t *testing.T) {
	t.Parallel()
	checkpoint := api.JSON(`{"step":1}`)
	for name, test := range map[string]struct {
		command  runs.Command
		included bool
	}{
		"a heartbeat":                          {&runs.Heartbeat{RunID: "r", Fence: 2, Checkpoint: checkpoint, SettledAfter: ms(1)}, true},
		"a heartbeat that includes nothing":    {&runs.Heartbeat{RunID: "r", Fence: 2, Checkpoint: checkpoint, SettledAfter: ms(0)}, false},
		"a heartbeat that does not say":        {&runs.Heartbeat{RunID: "r", Fence: 2, Checkpoint: checkpoint}, false},
		"a heartbeat without a checkpoint":     {&runs.Heartbeat{RunID: "r", Fence: 2, SettledAfter: ms(1)}, false},
		"a release":                            {&runs.Release{RunID: "r", Fence: 2, Checkpoint: checkpoint, SettledAfter: ms(1)}, true},
		"a release that does not say":          {&runs.Release{RunID: "r", Fence: 2, Checkpoint: checkpoint}, false},
		"a release that includes all and more": {&runs.Release{RunID: "r", Fence: 2, Checkpoint: checkpoint, SettledAfter: ms(9)}, true},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", approval("a"))
			h.must(allow("r", "a"))
			require.Equal(t, int64(2), h.claim("r"))
			h.must(test.command)
			h.nowMs += 2 * api.DefaultLeaseMs
			claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"}).Claim
			if test.included {
				require.Nil(t, claim.Resume)
			} else {
				require.Len(t, claim.Resume.Approvals, 1)
			}
		})
	}
}

func withCheckpoint(command *runs.Suspend, checkpoint api.JSON, settledAfter *int64) *runs.Suspend {
	command.Checkpoint, command.SettledAfter = checkpoint, settledAfter
	return command
}

// A run that an attached worker releases waits like a plain suspension.
func TestReleaseWhileAttached(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a")))
	reply := h.must(&runs.Release{RunID: "r", Fence: 1})
	require.Equal(t, api.StatusWaitingForApproval, reply.Run.Run.Status)
	require.Nil(t, reply.Run.View().Lease)
	require.True(t, h.must(&runs.Release{RunID: "r", Fence: 1}).Existing)
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
	h.must(allow("r", "a"))
	require.Equal(t, int64(1), h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim.Attempt)
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	withdraw := func(id string) *runs.Withdraw {
		return &runs.Withdraw{RunID: "r", RequestID: id, Fence: 1, Reason: "no longer needed"}
	}
	h := newHouse(t).start("r")
	h.must(hold("r", 1, approval("a"), question("q"), approval("b"), question("p")))
	h.refused(api.CodeRequestNotFound, withdraw("x"))
	bad := withdraw("a")
	bad.Reason = "\x00"
	require.Equal(t, []string{"/reason"}, pointersOf(h.refused(api.CodeInvalidRequest, bad)))

	for _, id := range []string{"a", "q"} {
		reply := h.must(withdraw(id))
		require.False(t, reply.Existing)
		require.Equal(t, api.StatusWaitingForUserQuestion, reply.Run.Run.Status)
		recorded := h.request("r", id).Recorded()
		require.Equal(t, api.OutcomeCancelled, recorded.Outcome)
		require.Equal(t, api.ViaWorker, recorded.Via)
		require.Equal(t, "worker", recorded.ResolvedBy)
		require.Equal(t, "no longer needed", recorded.Reason)
		require.True(t, h.must(withdraw(id)).Existing)
	}
	require.Equal(t, api.BehaviorDeny, h.request("r", "a").Recorded().Behavior)
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, allow("r", "a")), "a", api.OutcomeCancelled, api.ViaWorker)

	h.must(allow("r", "b"))
	requireRecorded(t, h.refused(api.CodeApprovalStateConflict, withdraw("b")), "b", api.OutcomeAllowed, api.ViaAPI)
	h.must(hold("r", 1, question("more")))
	h.must(answer("r", "p", "north"))
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, withdraw("p")), "p", api.OutcomeAnswered, api.ViaAPI)
	// The run continues when its last request is withdrawn.
	require.Equal(t, api.StatusRunning, h.must(withdraw("more")).Run.Run.Status)
	refusal := h.refused(api.CodeQuestionStateConflict, answer("r", "more", "north"))
	require.Equal(t, "user-question request more cancelled: no longer needed", refusal.Detail)

	// A repeat whose first reply was lost is a no-op after the run is over, too.
	h.must(&runs.Complete{RunID: "r", Fence: 1})
	require.True(t, h.must(withdraw("more")).Existing)
	requireRecorded(t, h.refused(api.CodeRunStateConflict, withdraw("b")), "b", api.OutcomeAllowed, api.ViaAPI)
	h.refused(api.CodeRunStateConflict, withdraw("x"))
}

// Completing or failing a run records its open requests as expired, in one decision.
func TestEndWhileAttached(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]runs.Command{
		"complete": &runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`1`)},
		"fail":     &runs.Fail{RunID: "r", Fence: 1, Error: "gave up"},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			h.must(hold("r", 1, approval("a"), question("q"), approval("done")))
			h.must(allow("r", "done"))
			reply := h.must(end)
			require.True(t, model.Terminal(reply.Run.Run.Status))
			for _, id := range []string{"a", "q"} {
				recorded := h.request("r", id).Recorded()
				require.Equal(t, api.OutcomeExpired, recorded.Outcome)
				require.Equal(t, api.ViaRunEnded, recorded.Via)
				require.Equal(t, api.ResolvedBySystem, recorded.ResolvedBy)
			}
			require.Equal(t, api.OutcomeAllowed, h.request("r", "done").Outcome)
			requireRecorded(t, h.refused(api.CodeQuestionExpired, answer("r", "q", "north")), "q", api.OutcomeExpired, api.ViaRunEnded)
			requireRecorded(t, h.refused(api.CodeRunStateConflict, allow("r", "a")), "a", api.OutcomeExpired, api.ViaRunEnded)
		})
	}
}
