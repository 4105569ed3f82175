package runs_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// rule adds a rule by ann for session "s" and the tool bash.
func (h *house) rule(id string, match api.RuleMatch, change ...func(*runs.AddRule)) *rules.Rule {
	h.t.Helper()
	command := &runs.AddRule{RuleID: id, SessionID: "s", ToolName: "bash", Match: match, Actor: runs.Actor{Name: "ann"}}
	for _, one := range change {
		one(command)
	}
	return &h.must(command).Rule.Rule
}

func denying(reason string) func(*runs.AddRule) {
	return func(c *runs.AddRule) { c.Effect, c.Reason = api.RuleDeny, reason }
}

func asking(c *runs.AddRule)     { c.Effect = api.RuleAsk }
func everywhere(c *runs.AddRule) { c.SessionID = "" }

func uses(n int64) func(*runs.AddRule) { return func(c *runs.AddRule) { c.MaxUses = n } }

// running returns an approval for a given command.
func running(id, command string) api.ApprovalRequest {
	request := approval(id)
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	request.Input = input
	return request
}

func withKeys(id string, keys ...string) api.ApprovalRequest {
	request := approval(id)
	request.PatternKeys = keys
	return request
}

// When rules settle everything, the run does not wait and the lease continues.
func TestRulesSettleEverything(t *testing.T) {
	h := parallelHouse(t)
	allowed := h.rule("ls", param("command", "ls"), func(c *runs.AddRule) { c.Reason = "harmless" })
	denied := h.rule("rm", param("command", "rm **"), denying("no removing"))
	h.start("r")
	h.nowMs += 100
	command := suspend("r", 1, approval("a"), running("b", "rm -rf /"))
	command.SuspensionID, command.Checkpoint = "w1", api.JSON(`{"step":1}`)
	reply := h.must(command)

	run := reply.Run.Run
	require.Equal(t, api.StatusRunning, run.Status)
	require.Equal(t, int64(startMs+api.DefaultLeaseMs), run.LeaseExpiresAtMs, "the lease goes on as it was")
	require.Equal(t, run.LeaseExpiresAtMs, run.ClaimableAtMs)
	require.Equal(t, int64(1), run.Fence)
	require.Equal(t, int64(1), run.Attempt)
	require.False(t, run.Attached)
	resume := reply.Run.View().Resume
	require.Equal(t, "w1", resume.SuspensionID)
	require.Equal(t, []api.Resolution{{
		RequestID: "a", Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow, Reason: "harmless",
		ResolvedBy: "ann", ResolvedAtMs: h.nowMs, Via: "rule:ls", Rule: &api.AppliedRule{RuleID: "ls", Text: allowed.Text},
		Grant: &api.Grant{JTI: h.request("r", "a").Handle, Exp: run.LeaseExpiresAtMs / 1000},
	}, {
		RequestID: "b", Outcome: api.OutcomeDenied, Behavior: api.BehaviorDeny, Reason: "no removing",
		ResolvedBy: "ann", ResolvedAtMs: h.nowMs, Via: "rule:rm", Rule: &api.AppliedRule{RuleID: "rm", Text: denied.Text},
	}}, []api.Resolution{resume.Approvals[0].Resolution, resume.Approvals[1].Resolution})
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "waiting_for_approval", "approval_resolved", "started",
	}, h.eventTypes("r"), "one event for both decisions")
	require.Equal(t, "ls", h.request("r", "a").RuleID)

	// A repeated call is answered and settles nothing again.
	again := suspend("r", 1, approval("a"), running("b", "rm -rf /"))
	again.SuspensionID, again.Checkpoint = "w1", api.JSON(`{"step":1}`)
	repeated := h.must(again)
	require.True(t, repeated.Existing)
	require.Len(t, repeated.Run.View().Resume.Approvals, 2)
	again.Checkpoint = api.JSON(`{"step":2}`)
	h.refused(api.CodeIDConflict, again)

	// The holder continues, and may wait again with a new Resume.
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
	require.Equal(t, api.StatusWaitingForApproval, h.must(suspend("r", 1, running("c", "make"))).Run.Run.Status)
	h.must(allow("r", "c"))
	require.Equal(t, []string{"c"}, settledIDs(h.record("r")))
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
	require.Equal(t, int64(2), h.claim("r"))
}

// If its worker dies, the next one gets the same resolutions.
func TestWorkerDiesAfterRulesSettled(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.start("r")
	h.must(suspend("r", 1, approval("a")))
	h.nowMs += api.DefaultLeaseMs
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"}).Claim
	require.Equal(t, int64(2), claim.Attempt)
	require.Len(t, claim.Resume.Approvals, 1)
	h.refused(api.CodeLeaseLost, &runs.Complete{RunID: "r", Fence: 1})
}

// A lapsed lease that no other worker has claimed still works, and can still be claimed.
func TestRulesAndALapsedLease(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.start("r")
	h.nowMs += api.DefaultLeaseMs + 5
	run := h.must(suspend("r", 1, approval("a"))).Run.Run
	require.Equal(t, api.StatusRunning, run.Status)
	require.Equal(t, h.nowMs, run.ClaimableAtMs)
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "other"})
	h.must(&runs.Complete{RunID: "r", Fence: 1})
}

func TestRulesSettleAPart(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.start("r")
	reply := h.must(suspend("r", 1, approval("a"), running("b", "make"), question("q")))
	require.Equal(t, api.StatusWaitingForUserQuestion, reply.Run.Run.Status)
	require.Zero(t, reply.Run.Run.LeaseExpiresAtMs)
	require.Equal(t, []string{"b"}, reply.Run.View().PendingApprovalIDs)
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
	late := h.refused(api.CodeApprovalNotPending, deny("r", "a"))
	requireRecorded(t, late, "a", api.OutcomeAllowed, "rule:ls")
	h.must(answer("r", "q", "north"))
	h.must(allow("r", "b"))
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"}).Claim
	require.Equal(t, int64(1), claim.Attempt)
	require.Len(t, claim.Resume.Approvals, 2)
	require.Len(t, claim.Resume.Questions, 1)
}

func TestRulesSettleNothing(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.rule("ask", param("command", "git **"), asking)
	h.rule("all", api.RuleMatch{ToolCallID: "call-x"}, func(c *runs.AddRule) { c.SessionID = "elsewhere" })
	h.start("r")
	run := h.must(suspend("r", 1, running("a", "git push"), running("x", "make"), question("q"))).Run.Run
	require.Equal(t, api.StatusWaitingForUserQuestion, run.Status)
	require.Equal(t, []api.EventType{"accepted", "queued", "started", "waiting_for_user_question", "waiting_for_approval"}, h.eventTypes("r"))
	for _, id := range []string{"a", "x"} {
		require.True(t, h.request("r", id).Open())
		require.Empty(t, h.request("r", id).RuleID)
	}
}

// An ask rule wins over every allow rule: a person is asked.
func TestAskBeatsAllow(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.rule("ask", api.RuleMatch{AnyInput: true}, asking, everywhere)
	h.wait("r", approval("a"))
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
	h.must(&runs.RevokeRule{RuleID: "ask"})
	h.must(allow("r", "a"))
	h.claim("r")
	require.Equal(t, api.StatusRunning, h.must(suspend("r", 2, approval("b"))).Run.Run.Status)
}

// Attached waiting: requests that rules settle never wait, and the lease is unchanged.
func TestRulesWhileAttached(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.start("r")
	run := h.must(hold("r", 1, approval("a"))).Run.Run
	require.Equal(t, api.StatusRunning, run.Status)
	require.True(t, run.Attached)
	require.Equal(t, int64(1), run.Attempt)
	require.Equal(t, run.LeaseExpiresAtMs, run.ClaimableAtMs)

	require.Equal(t, api.StatusWaitingForApproval, h.must(hold("r", 1, running("b", "make"))).Run.Run.Status)
	require.Equal(t, api.StatusWaitingForApproval, h.must(hold("r", 1, approval("c"))).Run.Run.Status)
	require.Equal(t, []string{"a", "c"}, settledIDs(h.record("r")), "each is handed over as it falls")
	h.must(allow("r", "b"))
	require.Equal(t, []string{"a", "c", "b"}, settledIDs(h.record("r")))

	// Without hold it does not wait either, and keeps the lease without staying attached.
	plain := h.must(suspend("r", 1, approval("d"))).Run.Run
	require.Equal(t, api.StatusRunning, plain.Status)
	require.NotZero(t, plain.LeaseExpiresAtMs)
	require.Equal(t, []string{"a", "c", "b", "d"}, settledIDs(h.record("r")), "no checkpoint took in what was before")
	h.must(&runs.Complete{RunID: "r", Fence: 1})
}

// If some requests stay open, the holder loses the lease as usual.
func TestRulesAndWhatIsStillOpen(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"))
	h.start("r")
	h.must(hold("r", 1, running("b", "make")))
	run := h.must(suspend("r", 1, approval("a"))).Run.Run
	require.Equal(t, api.StatusWaitingForApproval, run.Status)
	require.Zero(t, run.LeaseExpiresAtMs)
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
}

func createWaiting(claim, stay bool, requests ...any) *runs.CreateRun {
	suspension := suspend("", 0, requests...).Suspension
	suspension.Hold = stay
	command := &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`"go"`), Suspend: &suspension}
	if claim {
		command.Claim = &api.ClaimOptions{WorkerID: "worker"}
	}
	return command
}

func TestRulesAndARunThatIsMadeWaiting(t *testing.T) {
	t.Parallel()
	inHouse(t, "without a claim it is free at once", func(t *testing.T, h *house) {
		h.rule("ls", param("command", "ls"))
		reply := h.must(createWaiting(false, false, approval("a")))
		require.Nil(t, reply.Claim)
		require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
		require.Equal(t, h.nowMs, reply.Run.Run.ClaimableAtMs)
		claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "worker"}).Claim
		require.Equal(t, int64(1), claim.Attempt)
		require.Len(t, claim.Resume.Approvals, 1)
	})
	for name, stay := range map[string]bool{"with a claim": false, "attached": true} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.rule("ls", param("command", "ls"))
			claim := h.must(createWaiting(true, stay, approval("a"))).Claim
			require.NotNil(t, claim)
			require.Equal(t, api.StatusRunning, claim.Run.Status)
			require.Equal(t, model.FenceText(1), claim.Lease.Fence)
			require.Equal(t, int64(1), claim.Attempt)
			require.JSONEq(t, `"go"`, string(claim.Input))
			require.Len(t, claim.Resume.Approvals, 1)
			require.True(t, h.must(createWaiting(true, stay, approval("a"))).Existing)
			h.must(&runs.Complete{RunID: "r", Fence: 1})
		})
	}
	inHouse(t, "with a claim that ends", func(t *testing.T, h *house) {
		h.rule("ls", param("command", "ls"))
		reply := h.must(createWaiting(true, false, approval("a"), running("b", "make")))
		require.Nil(t, reply.Claim)
		require.Equal(t, api.StatusWaitingForApproval, reply.Run.Run.Status)
	})
	inHouse(t, "the run behind it waits its turn", func(t *testing.T, h *house) {
		h.rule("ls", param("command", "ls"))
		h.must(createWaiting(false, false, approval("a")))
		h.create("next")
		require.Equal(t, api.StatusQueued, h.run("next").Status)
		h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "next", WorkerID: "worker"})
		h.must(&runs.Complete{RunID: "r", Fence: h.claim("r")})
		h.claim("next")
	})
}

// Expiry comes first: no rule settles an expired request.
func TestRulesAndDeadlines(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", param("command", "ls"), uses(5))
	h.start("r")
	reply := h.must(suspend("r", 1, expiringApproval("late", h.nowMs), expiringApproval("soon", h.nowMs+1)))
	require.Equal(t, api.OutcomeExpired, h.request("r", "late").Outcome)
	require.Equal(t, api.OutcomeAllowed, h.request("r", "soon").Outcome)
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	require.Equal(t, []string{"late", "soon"}, settledIDs(h.record("r")))
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})

	// An expiry that ends the run precedes the rules that would let it continue.
	run := h.must(suspend("r", 1, approval("b"), expiringQuestion("q", h.nowMs))).Run.Run
	require.Equal(t, api.StatusCancelled, run.Status)
	require.Equal(t, api.OutcomeCancelled, h.request("r", "b").Outcome)
	require.Equal(t, int64(1), h.rules["ls"].Uses)
}

// max_uses counts every decision, and the rule then ends.
func TestMaxUses(t *testing.T) {
	h := parallelHouse(t)
	h.rule("twice", param("command", "ls"), uses(2))
	h.start("r")
	run := h.must(suspend("r", 1, approval("a"), running("x", "make"), approval("b"), approval("c"))).Run.Run
	require.Equal(t, api.StatusWaitingForApproval, run.Status)
	require.Equal(t, int64(2), h.rules["twice"].Uses)
	require.Equal(t, "twice", h.request("r", "b").RuleID)
	require.True(t, h.request("r", "c").Open())
	h.must(deny("r", "c", "x"))
	h.claim("r")
	require.Equal(t, api.StatusWaitingForApproval, h.must(suspend("r", 2, approval("d"))).Run.Run.Status)
}

// Every rule that is needed to cover the keys is counted as used, even if another one is named.
// Unneeded rules are not counted.
func TestUsesOfSeveralRules(t *testing.T) {
	h := parallelHouse(t)
	h.rule("1-j", keys("j"), uses(1))
	h.rule("2-k", keys("k"), uses(1))
	h.rule("3-jx", keys("j", "x"), uses(1))
	h.start("r")
	require.Equal(t, api.StatusRunning, h.must(suspend("r", 1, withKeys("a", "k", "x", "j"))).Run.Run.Status)
	require.Equal(t, "3-jx", h.request("r", "a").RuleID)
	require.Equal(t, []int64{0, 1, 1}, []int64{h.rules["1-j"].Uses, h.rules["2-k"].Uses, h.rules["3-jx"].Uses})
	require.Equal(t, api.StatusRunning, h.must(suspend("r", 1, withKeys("b", "j"))).Run.Run.Status)
	require.Equal(t, api.StatusWaitingForApproval, h.must(suspend("r", 1, withKeys("c", "k"))).Run.Run.Status)
}

// via names the last rule that was needed, in order of creation.
func TestWhichRuleIsNamed(t *testing.T) {
	h := parallelHouse(t)
	h.rule("z-j", keys("j"))
	h.nowMs++
	h.rule("y-k", keys("k"))
	h.nowMs++
	h.rule("b", param("command", "l*"), everywhere)
	h.rule("a", exactly(`{"command":"ls"}`))
	h.rule("no-1", param("command", "rm"), denying("one"))
	h.rule("no-0", param("command", "rm"), denying("nought"), everywhere)
	h.start("r")
	h.must(suspend("r", 1, withKeys("both", "k", "j"), withKeys("key", "j"), approval("plain"), running("rm", "rm"), withKeys("more", "j", "x")))
	for id, rule := range map[string]string{"both": "y-k", "key": "z-j", "plain": "a", "rm": "no-0", "more": "a"} {
		require.Equal(t, rule, h.request("r", id).RuleID, id)
	}
}

// Rules apply until they expire, for their agent and in their session.
func TestRulesThatDoNotHold(t *testing.T) {
	h := parallelHouse(t)
	h.rule("short", param("command", "ls"), func(c *runs.AddRule) { c.ExpiresAfterMs = ms(100) })
	h.rule("agent", param("command", "make"), func(c *runs.AddRule) { c.AgentID = "builder" }, everywhere)
	h.rule("other", param("command", "ps"), func(c *runs.AddRule) { c.SessionID = "other" })
	h.start("r")
	h.nowMs += 99
	require.Equal(t, api.StatusRunning, h.must(suspend("r", 1, approval("a"))).Run.Run.Status)
	h.nowMs++
	h.must(suspend("r", 1, approval("b"), running("c", "make"), running("d", "ps")))
	require.Equal(t, []string{"b", "c", "d"}, h.record("r").View().PendingApprovalIDs)

	built := createWaiting(false, false, running("e", "make"))
	built.SessionID, built.RunID, built.AgentID = "u", "built", "builder"
	require.Equal(t, api.StatusRunning, h.must(built).Run.Run.Status)
	// A rule may name a session that does not exist yet.
	there := createWaiting(false, false, running("f", "ps"))
	there.SessionID, there.RunID = "other", "there"
	require.Equal(t, api.StatusRunning, h.must(there).Run.Run.Status)
}

// Identical calls in one turn are separate requests: each is settled.
func TestIdenticalCallsAreSettledEach(t *testing.T) {
	h := parallelHouse(t)
	h.rule("ls", exactly(`{"command":"ls"}`), uses(2))
	h.start("r")
	var requests []any
	for i := range 3 {
		request := approval(fmt.Sprintf("a%d", i))
		request.ToolCallID = "call"
		requests = append(requests, request)
	}
	h.must(suspend("r", 1, requests...))
	require.Equal(t, []string{"a2"}, h.record("r").View().PendingApprovalIDs)
}
