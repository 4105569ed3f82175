package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/runs"
)

// A retried run keeps its decisions, and runs before the queued runs.
func TestAFailedRunIsRetried(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("item"))
	h.must(allow("r", "item"))
	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	h.create("next")
	h.must(&runs.Fail{RunID: "r", Fence: 2, Error: "broken"})
	require.NotZero(t, h.run("next").ClaimableAtMs)

	retried := h.must(&runs.RetryRun{RunID: "r", Key: "k"}).Run.View()
	require.Equal(t, api.StatusRunning, retried.Status)
	require.Zero(t, retried.FinishedAtMs)
	require.Empty(t, retried.Error)
	require.Equal(t, "broken", retried.LastError)
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "next", WorkerID: "w"})
	again := h.must(&runs.RetryRun{RunID: "r", Key: "k"})
	require.True(t, again.Existing, "its reply was lost")
	h.refused(api.CodeRunStateConflict, &runs.RetryRun{RunID: "r"})
	h.refused(api.CodeRunStateConflict, &runs.RetryRun{RunID: "r", Key: "another"})

	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.EqualValues(t, 1, claim.Attempt)
	require.Equal(t, api.OutcomeAllowed, claim.Resume.Approvals[0].Resolution.Outcome)
	h.must(&runs.Complete{RunID: "r", Fence: 3})
	h.must(&runs.ClaimRun{RunID: "next", WorkerID: "w"})
	events := h.eventTypes("r")
	require.Equal(t, []api.EventType{api.EventFailed, api.EventRunRetried, api.EventCompleted}, events[len(events)-3:])
}

// A callback has a key of its own, so it does not keep a run from being retried, as erased values do.
func TestARunWithACallbackIsRetried(t *testing.T) {
	t.Parallel()
	keys, err := sealing.Parse("k:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")
	require.NoError(t, err)
	h := newHouse(t)
	raise := func(runID string, request api.ApprovalRequest) {
		request.Callback = &api.Callback{URL: "https://agent.example/decided", Token: "token-of-the-caller-0123456789"}
		h.start(runID)
		h.must(&runs.Call{
			Command: hold(runID, h.run(runID).Fence, request), Sealer: keys, CheckCallback: func(string) error { return nil },
		})
		require.NotEmpty(t, h.request(runID, "item").Sealed)
		h.must(&runs.Fail{RunID: runID, Fence: h.run(runID).Fence, Error: "broken"})
	}
	secret := approval("item")
	secret.SensitivePaths = []string{""}
	raise("secret", secret)
	raise("plain", approval("item"))
	refused := h.refused(api.CodeRunStateConflict, &runs.RetryRun{RunID: "secret"})
	require.Contains(t, refused.Detail, "were erased")
	h.must(&runs.RetryRun{RunID: "plain"})
}

// A session has at most one active run, and none after it has ended.
func TestAFailedRunIsNotRetriedNextToAnother(t *testing.T) {
	t.Parallel()
	h := into(t, api.StatusFailed)
	h.start("other")
	h.refused(api.CodeSessionBusy, &runs.RetryRun{RunID: "r"})
	h.must(&runs.Complete{RunID: "other", Fence: 1})
	h.must(&runs.EndSession{SessionID: "s"})
	h.refused(api.CodeSessionEnded, &runs.RetryRun{RunID: "r"})
}

// Requests that were open when a run failed stay expired: a retry allows nothing.
func TestARetriedRunIsAllowedNothingNew(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("item")))
	h.must(&runs.Fail{RunID: "r", Fence: 1, Error: "broken"})
	h.must(&runs.RetryRun{RunID: "r"})
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.Equal(t, api.OutcomeExpired, claim.Resume.Approvals[0].Resolution.Outcome)
}

// A run that is released after its handler failed is claimable after the delay, with the error.
func TestAFailedAttemptIsReleased(t *testing.T) {
	h := parallelHouse(t).start("r")
	release := func() *runs.Release { return &runs.Release{RunID: "r", Fence: 1, LastError: "flaky", DelayMs: 1000} }
	view := h.must(release()).Run.View()
	require.EqualValues(t, 1, view.FailedAttempts)
	require.Equal(t, "flaky", view.LastError)
	require.True(t, h.must(release()).Existing)
	require.EqualValues(t, 1, h.run("r").FailedAttempts, "the repeated call counts once")
	require.Zero(t, h.run("r").StalledAttempts)
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	h.nowMs += 1000
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.EqualValues(t, 2, claim.Attempt)
	require.EqualValues(t, 1, claim.Run.FailedAttempts)

	same := int64(1)
	h.must(&runs.Release{RunID: "r", Fence: 2, LastError: "no service", Attempt: &same})
	require.EqualValues(t, 1, h.run("r").FailedAttempts, "this one does not count")
	require.EqualValues(t, 1, h.run("r").StalledAttempts, "but it is bounded as a lapsed lease is")
	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	h.must(suspend("r", 3, approval("item")))
	require.Zero(t, h.run("r").FailedAttempts)
	require.Empty(t, h.run("r").LastError)

	for pointer, command := range map[string]*runs.Release{
		"/attempt":    {RunID: "r", Fence: 3, Attempt: &same},
		"/delay_ms":   {RunID: "r", Fence: 3, DelayMs: api.MaxLeaseMs + 1},
		"/last_error": {RunID: "r", Fence: 3, LastError: "\x00"},
	} {
		require.Equal(t, pointer, h.refused(api.CodeInvalidRequest, command).Faults[0].Pointer)
	}
}

// A suspension that waits resets the failed attempts, even if rules settle part of it.
func TestAWaitResetsFailedAttempts(t *testing.T) {
	t.Parallel()
	failedOnce := func() *house {
		h := newHouse(t).start("r")
		h.must(&runs.Release{RunID: "r", Fence: 1, LastError: "flaky"})
		h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		h.rule("ls", param("command", "ls"))
		return h
	}
	h := failedOnce()
	h.must(suspend("r", 2, approval("a"), running("b", "make")))
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
	require.Equal(t, api.OutcomeAllowed, h.request("r", "a").Outcome)
	require.Zero(t, h.run("r").FailedAttempts)
	require.Empty(t, h.run("r").LastError)

	h = failedOnce()
	h.must(suspend("r", 2, approval("a")))
	require.Equal(t, api.StatusRunning, h.run("r").Status)
	require.EqualValues(t, 1, h.run("r").FailedAttempts, "it did not wait")
	require.Equal(t, "flaky", h.run("r").LastError)
}

// A call takes no slot of its session and its agent asks again, so it is not retried.
func TestAFailedCallIsNotRetried(t *testing.T) {
	h := parallelHouse(t)
	suspension := suspend("call", 0, approval("item")).Suspension
	h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "call", Kind: api.KindCall, Input: api.JSON(`"go"`), Suspend: &suspension})
	h.must(allow("call", "item"))
	h.must(&runs.ClaimRun{RunID: "call", WorkerID: "w"})
	h.must(&runs.Fail{RunID: "call", Fence: 1, Error: "exit status 1"})
	h.refused(api.CodeRunStateConflict, &runs.RetryRun{RunID: "call"})
}
