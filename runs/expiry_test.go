package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A request is due when expires_at_ms <= now, whether the sweep or a late answer finds it.
func TestExpiryBoundary(t *testing.T) {
	t.Parallel()
	const dueMs = startMs + 50
	for name, late := range map[string]struct {
		command runs.Command
		code    api.Code
	}{
		"the sweep":         {&runs.ExpireRequests{RunID: "r"}, ""},
		"an answer":         {answer("r", "q", "north"), api.CodeQuestionExpired},
		"a session answer":  {answerInSession(answer("", "q", "north")), api.CodeQuestionExpired},
		"a decline":         {decline("r", "q"), api.CodeQuestionExpired},
		"a question cancel": {&runs.CancelQuestion{RunID: "r", RequestID: "q"}, api.CodeQuestionExpired},
		"a cancel":          {&runs.CancelRun{RunID: "r"}, ""},
		"an interrupt":      {&runs.InterruptSession{SessionID: "s"}, ""},
		"the end":           {&runs.EndSession{SessionID: "s"}, ""},
		"an approval":       {allow("r", "a"), api.CodeRunStateConflict},
		"a new run":         {&runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Inline: true}, ""},
		"a heartbeat":       {&runs.Heartbeat{RunID: "r", Fence: 1}, ""},
		"an attached raise": {hold("r", 1, approval("more")), api.CodeLeaseLost},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			h.must(hold("r", 1, expiringQuestion("q", dueMs), approval("a")))
			h.nowMs = dueMs - 1
			h.must(&runs.ExpireRequests{RunID: "r"})
			require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)

			h.nowMs = dueMs
			_, err := h.do(late.command)
			require.Equal(t, late.code, refusal.CodeOf(err), "%v", err)
			run := h.run("r")
			require.Equal(t, api.StatusCancelled, run.Status)
			require.Equal(t, "user-question request q expired at 1000050", run.Error)
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, api.OutcomeExpired, recorded.Outcome)
			require.Equal(t, "expired at 1000050", recorded.Reason)
			require.Equal(t, api.ViaClock, recorded.Via)
			require.Equal(t, api.OutcomeCancelled, h.request("r", "a").Outcome)
			if late.code == api.CodeQuestionExpired {
				refusal := requireCode(t, late.code, err)
				require.Equal(t, "user-question request q expired at 1000050", refusal.Detail)
				requireRecorded(t, refusal, "q", api.OutcomeExpired, api.ViaClock)
			}
			if late.code == api.CodeRunStateConflict {
				requireRecorded(t, requireCode(t, late.code, err), "a", api.OutcomeCancelled, api.ViaClock)
			}
			// A repeated sweep changes nothing.
			before := len(h.events["s"])
			h.must(&runs.ExpireRequests{RunID: "r"})
			require.Len(t, h.events["s"], before)
		})
	}
}

// An expired approval is denied with its own outcome; the run continues.
func TestApprovalExpires(t *testing.T) {
	h := parallelHouse(t).wait("r", expiringApproval("a", startMs+50), approval("b"))
	h.nowMs += 50
	refusal := h.refused(api.CodeApprovalNotPending, allow("r", "a"))
	requireRecorded(t, refusal, "a", api.OutcomeExpired, api.ViaClock)
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
	require.Equal(t, api.Resolution{
		RequestID: "a", Outcome: api.OutcomeExpired, Behavior: api.BehaviorDeny, Reason: "expired at 1000050",
		ResolvedBy: "system", ResolvedAtMs: startMs + 50, Via: "clock",
	}, h.request("r", "a").Recorded())
	h.must(allow("r", "b"))
	require.Len(t, h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim.Resume.Approvals, 2)

	h = newHouse(t).wait("r", expiringApproval("a", startMs+50), expiringApproval("b", startMs+40))
	h.nowMs += 50
	requireRecorded(t, h.refused(api.CodeApprovalStateConflict, allow("r", "a", "b")), "a", api.OutcomeExpired, api.ViaClock)
	require.Equal(t, api.StatusRunning, h.run("r").Status)
	require.Equal(t, h.nowMs, h.run("r").ClaimableAtMs)
	// One event has both, in the order of their deadlines.
	require.Equal(t, []api.EventType{"accepted", "queued", "started", "waiting_for_approval", "approval_resolved", "started"}, h.eventTypes("r"))
	require.Equal(t, []string{"b", "a"}, settledIDs(h.record("r")))
}

// TestTimeAllowsNothingForARequester: an approval that excludes requesters and that nobody else decides in
// time is denied, even if a requester's late allow triggers the expiry.
func TestTimeAllowsNothingForARequester(t *testing.T) {
	t.Parallel()
	requester := &auth.Identity{Principal: "agent:asks", Role: api.RoleAdmin, Via: auth.ViaToken}
	for name, late := range map[string]runs.Command{
		"the sweep": &runs.ExpireRequests{RunID: "r"}, "their allow": &runs.Call{Command: allow("r", "a"), Caller: requester}, "their rule": &runs.AddRule{
			SessionID: "s", RuleID: "late", Match: api.RuleMatch{PatternKeys: []string{"k"}}, Actor: runs.Actor{Name: requester.Principal},
		},
	} {
		h := newHouse(t)
		h.must(&runs.CreateRun{RunID: "r", SessionID: "s", Input: api.JSON(`1`), Principal: requester.Principal, Claim: &api.ClaimOptions{WorkerID: "w"}})
		excluding, dueMs := approval("a"), h.nowMs+50
		excluding.ExcludeRequester, excluding.ExpiresAtMs = true, &dueMs
		h.must(hold("r", 1, excluding))
		h.refused(api.CodeRequesterExcluded, &runs.Call{Command: allow("r", "a"), Caller: requester})
		h.nowMs = dueMs
		_, _ = h.do(late)
		if h.request("r", "a").Open() {
			require.Equal(t, "their rule", name)
			h.must(&runs.ExpireRequests{RunID: "r"})
		}
		recorded := h.request("r", "a").Recorded()
		require.Equal(t, api.OutcomeExpired, recorded.Outcome, name)
		require.Equal(t, api.BehaviorDeny, recorded.Behavior, name)
	}
}

func TestBothKindsExpire(t *testing.T) {
	h := parallelHouse(t)
	h.wait("r", expiringApproval("a", startMs+50), expiringQuestion("late", startMs+50), expiringQuestion("q", startMs+40), approval("b"))
	h.nowMs += 50
	h.must(&runs.ExpireRequests{RunID: "r", SessionID: "s"})
	// The first overdue question cancels the run. Other overdue requests count as expired only if
	// they are approvals; the rest is cancelled with the run.
	want := map[string]api.Outcome{"a": api.OutcomeExpired, "q": api.OutcomeExpired, "late": api.OutcomeCancelled, "b": api.OutcomeCancelled}
	for id, outcome := range want {
		require.Equal(t, outcome, h.request("r", id).Outcome, id)
	}
	require.Equal(t, "user-question request q expired at 1000040", h.run("r").Error)
	h.refused(api.CodeQuestionStateConflict, answer("r", "late", "north"))

	// When an approval expires next to an open question, the question stays shown.
	h = newHouse(t).wait("r", expiringApproval("a", startMs+50), question("q"))
	h.nowMs += 50
	h.must(&runs.ExpireRequests{RunID: "r"})
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)
}

// A deadline that is already past is accepted and expires at once.
func TestDeadlineAlreadyPast(t *testing.T) {
	h := parallelHouse(t).start("r")
	reply := h.must(suspend("r", 1, expiringApproval("a", 1)))
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	require.Equal(t, "expired at 1", reply.Run.Resume().Approvals[0].Resolution.Reason)
	require.Equal(t, int64(2), h.claim("r"))

	reply = h.must(hold("r", 2, expiringApproval("b", startMs)))
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	require.NotNil(t, reply.Run.View().Lease, "the lease of a worker that stays goes on")

	reply = h.must(suspend("r", 2, expiringQuestion("q", 1), approval("c")))
	require.Equal(t, api.StatusCancelled, reply.Run.Run.Status)
	require.Equal(t, api.OutcomeCancelled, h.request("r", "c").Outcome)

	reply = h.must(&runs.CreateRun{RunID: "made", Input: api.JSON(`1`), Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{expiringApproval("a", 1)}}})
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
}

// An expiry frees the session for the command that triggered it.
func TestExpiryMakesRoom(t *testing.T) {
	h := parallelHouse(t).wait("r", expiringQuestion("q", startMs+50))
	create := func() *runs.CreateRun {
		return &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}}
	}
	h.refused(api.CodeRunNotClaimable, create())
	h.nowMs += 50
	require.NotNil(t, h.must(create()).Claim)
}

// A command that was matched against outdated rules is decided again. Overdue requests are then
// expired in the same commit as the decision.
func TestAMatchAgainstOtherRulesChangesNothing(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, expiringQuestion("q", startMs+50), approval("a")))
	h.nowMs += 60
	suspension := api.Suspension{Approvals: []api.ApprovalRequest{approval("b")}}
	next := &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Inline: true, Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &suspension}
	require.NoError(t, runs.Prepare(next, h.newID))
	require.NoError(t, runs.MatchRules(t.Context(), next, runs.RuleSets{Versions: runs.RuleVersions{OfAll: 7}}))
	change, _, err := runs.Decide(h.load(next.Needs()), next, h.nowMs)
	_, other := runs.RulesChanged(err)
	require.True(t, other, "%v", err)
	require.True(t, change.Empty())

	require.NoError(t, runs.MatchRules(t.Context(), next, runs.RuleSets{}))
	change, _, err = runs.Decide(h.load(next.Needs()), next, h.nowMs)
	require.NoError(t, err)
	require.Len(t, change.SettledRequests, 2)
	require.Len(t, change.NewRuns, 1)
}
