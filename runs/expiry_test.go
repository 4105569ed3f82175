package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

// design.md §4: due when expires_at_ms <= now, whether the sweep has been there or
// an answer comes late; kheish.md 1.11.
func TestExpiryBoundary(t *testing.T) {
	t.Parallel()
	const dueMs = startMs + 50
	for name, late := range map[string]struct {
		command runs.Command
		code    runs.Code
	}{
		"the sweep":         {&runs.ExpireRequests{RunID: "r"}, ""},
		"an answer":         {answer("r", "q", "north"), runs.CodeQuestionExpired},
		"a session answer":  {answerInSession(answer("", "q", "north")), runs.CodeQuestionExpired},
		"a decline":         {decline("r", "q"), runs.CodeQuestionExpired},
		"a question cancel": {&runs.CancelQuestion{RunID: "r", RequestID: "q"}, runs.CodeQuestionExpired},
		"a cancel":          {&runs.CancelRun{RunID: "r"}, ""},
		"an interrupt":      {&runs.InterruptSession{SessionID: "s"}, ""},
		"the end":           {&runs.EndSession{SessionID: "s"}, ""},
		"an approval":       {allow("r", "a"), runs.CodeRunStateConflict},
		"a new run":         {&runs.CreateRun{SessionID: "s", SessionGiven: true, Input: runs.JSON(`1`), Inline: true}, ""},
		"a heartbeat":       {&runs.Heartbeat{RunID: "r", Fence: 1}, ""},
		"an attached raise": {hold("r", 1, approval("more")), runs.CodeLeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.start("r")
			h.must(hold("r", 1, expiringQuestion("q", dueMs), approval("a")))
			h.nowMs = dueMs - 1
			h.must(&runs.ExpireRequests{RunID: "r"})
			require.Equal(t, runs.StatusWaitingForUserQuestion, h.run("r").Status)

			h.nowMs = dueMs
			_, err := h.do(late.command)
			require.Equal(t, late.code, runs.ErrorCode(err), "%v", err)
			run := h.run("r")
			require.Equal(t, runs.StatusCancelled, run.Status)
			require.Equal(t, "user-question request q expired at 1000050", run.Error)
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, runs.OutcomeExpired, recorded.Outcome)
			require.Equal(t, "expired at 1000050", recorded.Reason)
			require.Equal(t, runs.ViaClock, recorded.Via)
			require.Equal(t, runs.OutcomeCancelled, h.request("r", "a").Outcome)
			if late.code == runs.CodeQuestionExpired {
				refusal := requireCode(t, late.code, err)
				require.Equal(t, "user-question request q expired at 1000050", refusal.Detail)
				requireRecorded(t, refusal, "q", runs.OutcomeExpired, runs.ViaClock)
			}
			if late.code == runs.CodeRunStateConflict {
				requireRecorded(t, requireCode(t, late.code, err), "a", runs.OutcomeCancelled, runs.ViaClock)
			}
			// Again: the same, and nothing more.
			before := len(h.events["s"])
			h.must(&runs.ExpireRequests{RunID: "r"})
			require.Len(t, h.events["s"], before)
		})
	}
}

// An approval that expires is a denial that says so; the run goes on (kheish.md,
// decision 8).
func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wait("r", expiringApproval("a", startMs+50), approval("b"))
	h.nowMs += 50
	refusal := h.refused(runs.CodeApprovalNotPending, allow("r", "a"))
	requireRecorded(t, refusal, "a", runs.OutcomeExpired, runs.ViaClock)
	require.Equal(t, runs.StatusWaitingForApproval, h.run("r").Status)
	require.Equal(t, runs.Resolution{
		RequestID: "a", Outcome: runs.OutcomeExpired, Behavior: runs.BehaviorDeny, Reason: "expired at 1000050",
		ResolvedBy: "system", ResolvedAtMs: startMs + 50, Via: "clock",
	}, h.request("r", "a").Recorded())
	h.must(allow("r", "b"))
	require.Len(t, h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim.Resume.Approvals, 2)

	h = newHouse(t)
	h.wait("r", expiringApproval("a", startMs+50), expiringApproval("b", startMs+40))
	h.nowMs += 50
	requireRecorded(t, h.refused(runs.CodeApprovalStateConflict, allow("r", "a", "b")), "a", runs.OutcomeExpired, runs.ViaClock)
	require.Equal(t, runs.StatusRunning, h.run("r").Status)
	require.Equal(t, h.nowMs, h.run("r").ClaimableAtMs)
	// Both in one event, in the order of their deadlines.
	require.Equal(t, []runs.EventType{"accepted", "queued", "started", "waiting_for_approval", "approval_resolved", "started"}, h.eventTypes("r"))
	require.Equal(t, []string{"b", "a"}, settledIDs(h.record("r")))
}

func TestBothKindsExpire(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wait("r", expiringApproval("a", startMs+50), expiringQuestion("late", startMs+50), expiringQuestion("q", startMs+40), approval("b"))
	h.nowMs += 50
	h.must(&runs.ExpireRequests{RunID: "r", SessionID: "s"})
	// The first due question decides; what else was due counts as expired only when
	// it is an approval, the rest is cancelled with the run.
	want := map[string]runs.Outcome{"a": runs.OutcomeExpired, "q": runs.OutcomeExpired, "late": runs.OutcomeCancelled, "b": runs.OutcomeCancelled}
	for id, outcome := range want {
		require.Equal(t, outcome, h.request("r", id).Outcome, id)
	}
	require.Equal(t, "user-question request q expired at 1000040", h.run("r").Error)
	h.refused(runs.CodeQuestionStateConflict, answer("r", "late", "north"))

	// An approval that expires beside an open question leaves the question shown.
	h = newHouse(t)
	h.wait("r", expiringApproval("a", startMs+50), question("q"))
	h.nowMs += 50
	h.must(&runs.ExpireRequests{RunID: "r"})
	require.Equal(t, runs.StatusWaitingForUserQuestion, h.run("r").Status)
}

// decisions.md 31: a deadline already past is accepted and expires at once.
func TestDeadlineAlreadyPast(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.start("r")
	reply := h.must(suspend("r", 1, expiringApproval("a", 1)))
	require.Equal(t, runs.StatusRunning, reply.Run.Run.Status)
	require.Equal(t, "expired at 1", reply.Run.Resume().Approvals[0].Resolution.Reason)
	require.Equal(t, int64(2), h.claim("r"))

	reply = h.must(hold("r", 2, expiringApproval("b", startMs)))
	require.Equal(t, runs.StatusRunning, reply.Run.Run.Status)
	require.NotNil(t, reply.Run.View().Lease, "the lease of a worker that stays goes on")

	reply = h.must(suspend("r", 2, expiringQuestion("q", 1), approval("c")))
	require.Equal(t, runs.StatusCancelled, reply.Run.Run.Status)
	require.Equal(t, runs.OutcomeCancelled, h.request("r", "c").Outcome)

	reply = h.must(&runs.CreateRun{RunID: "made", Input: runs.JSON(`1`), Suspend: &runs.Suspension{Approvals: []runs.ApprovalRequest{expiringApproval("a", 1)}}})
	require.Equal(t, runs.StatusRunning, reply.Run.Run.Status)
}

// An expiry frees the session for the call that found it.
func TestExpiryMakesRoom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wait("r", expiringQuestion("q", startMs+50))
	create := func() *runs.CreateRun {
		return &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: runs.JSON(`1`), Claim: &runs.ClaimOptions{WorkerID: "w"}}
	}
	h.refused(runs.CodeRunNotClaimable, create())
	h.nowMs += 50
	require.NotNil(t, h.must(create()).Claim)
}
