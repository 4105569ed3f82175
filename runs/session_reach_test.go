package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// byAgentA is a call of an operator whose token is bound to the agent "a".
func byAgentA(command runs.Command) runs.Command {
	return &runs.Call{Command: command, Caller: &auth.Identity{
		Principal: "user:op", Role: api.RoleOperator, AgentIDs: []string{"a"}, Via: auth.ViaToken,
	}}
}

// raiseOf creates a run of an agent in the session s of the agent "a", which waits for a request.
func (h *house) raiseOf(kind api.RunKind, agentID, runID string, request any) {
	h.t.Helper()
	h.must(&runs.CreateSession{SessionID: "s", AgentID: "a"})
	suspension := suspend("", 0, request)
	h.must(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: runID, AgentID: agentID, Kind: kind, Input: api.JSON(`"go"`),
		Suspend: &api.Suspension{Approvals: suspension.Approvals, Questions: suspension.Questions},
	})
}

// The commands of the session routes, about the request with an id.
var sessionDecisions = map[string]struct {
	decide func(id string) runs.Command
	raise  func(id string) any
}{
	"an approval": {
		func(id string) runs.Command { return approveInSession(allow("", id)) },
		func(id string) any { return approval(id) },
	},
	"an answer": {
		func(id string) runs.Command { return answerInSession(answer("", id, "north")) },
		func(id string) any { return question(id) },
	},
	"a decline": {
		func(id string) runs.Command { return answerInSession(decline("", id)) },
		func(id string) any { return question(id) },
	},
}

// A token that is bound to agents may reach a session without reaching all of its runs. On a session route it gets
// the error that the session without these runs gives it.
func TestSessionRoutesReachRunsOfTheTokensAgents(t *testing.T) {
	t.Parallel()
	for name, kind := range sessionDecisions {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.must(&runs.CreateSession{SessionID: "s", AgentID: "a"})
			none := h.refused(api.CodeRunStateConflict, byAgentA(kind.decide("p")))
			require.Nil(t, none.Recorded)

			for scene, prepare := range map[string]func(h *house){
				"an open request of the active run": func(h *house) { h.raiseOf(api.KindInput, "b", "r", kind.raise("p")) },
				"an open request of a call":         func(h *house) { h.raiseOf(api.KindCall, "b", "r", kind.raise("p")) },
				"open requests of two calls": func(h *house) {
					h.raiseOf(api.KindCall, "b", "r", kind.raise("p"))
					h.raiseOf(api.KindCall, "b", "r-2", kind.raise("p"))
				},
				"a settled request of the active run": func(h *house) {
					h.raiseOf(api.KindInput, "b", "r", kind.raise("p"))
					h.must(kind.decide("p"))
				},
				"a settled request of an ended run": func(h *house) {
					h.raiseOf(api.KindInput, "b", "r", kind.raise("p"))
					h.must(kind.decide("p"))
					h.must(&runs.CancelRun{RunID: "r"})
				},
			} {
				h := newHouse(t)
				prepare(h)
				before, run := len(h.events["s"]), *h.run("r")
				require.Equal(t, none, h.refused(api.CodeRunStateConflict, byAgentA(kind.decide("p"))), scene)
				require.Len(t, h.events["s"], before, scene)
				require.Equal(t, run, *h.run("r"), scene)
			}

			h = newHouse(t)
			h.raiseOf(api.KindInput, "a", "own", kind.raise("o"))
			h.raiseOf(api.KindCall, "b", "r", kind.raise("p"))
			_, foreign := h.do(byAgentA(kind.decide("p")))
			_, unknown := h.do(byAgentA(kind.decide("nope")))
			require.EqualError(t, foreign, strings.ReplaceAll(unknown.Error(), "nope", "p"), "next to an own run")
			require.True(t, h.request("r", "p").Open())
			h.must(byAgentA(kind.decide("o")))
			require.False(t, h.request("own", "o").Open())
		})
	}
}

// A key that decided about another agent's run is a used key, and shows nothing of the run.
func TestAKeyOfAnotherAgentsRunIsNotReplayed(t *testing.T) {
	h := parallelHouse(t)
	h.raiseOf(api.KindInput, "b", "r", approval("p"))
	keyed := func() *runs.ResolveApprovals {
		command := approveInSession(allow("", "p"))
		command.Key = "k"
		return command
	}
	h.must(keyed())
	require.True(t, h.must(keyed()).Replayed)
	refused := h.refused(api.CodeIdempotencyConflict, byAgentA(keyed()))
	require.Nil(t, refused.Recorded)
	require.NotContains(t, refused.Detail, "run r")
}

// The message with the answer has its id from the clarification, so the scope of the caller does not count.
func TestAClarificationOfAnotherAgentsRunKeepsItsID(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.CreateSession{SessionID: "parent"})
	h.must(&runs.CreateSession{SessionID: "s", AgentID: "a", ParentSessionID: "parent"})
	h.must(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: "r", AgentID: "b", Input: api.JSON(`"go"`), Claim: &api.ClaimOptions{WorkerID: "w"},
	})
	h.must(&runs.AskClarification{RunID: "r", Fence: 1, Request: question("q")})
	h.must(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: "own", AgentID: "a", Kind: api.KindCall, Input: api.JSON(`"go"`),
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("p")}},
	})
	h.must(allow("own", "p"))
	h.refused(api.CodeIDConflict, &runs.Call{
		Command: &runs.AskClarification{RunID: "own", Fence: h.claim("own"), Request: question("q")},
		Caller:  &auth.Identity{Principal: "agent:one", Role: api.RoleAgent, AgentIDs: []string{"a"}, Via: auth.ViaToken},
	})
}

// An interrupt is about the whole session, as its end is.
func TestAnInterruptEndsRunsOfAllAgents(t *testing.T) {
	h := parallelHouse(t)
	h.raiseOf(api.KindInput, "b", "r", approval("p"))
	h.raiseOf(api.KindCall, "b", "call", approval("p"))
	require.True(t, h.must(byAgentA(&runs.InterruptSession{SessionID: "s", Reason: "stop"})).Interrupted)
	require.Equal(t, api.StatusInterrupted, h.run("r").Status)
	require.Equal(t, api.StatusInterrupted, h.run("call").Status)
}

// A token that is bound to agents may reach a run without reaching its session. It decides the run, and writes no rule
// of the session, which would decide calls of other agents.
func TestARuleIsRememberedOnlyForAReachedSession(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.CreateSession{SessionID: "s", AgentID: "b"})
	h.must(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: "r", AgentID: "a", Input: api.JSON(`"go"`),
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("p"), approval("q")}},
	})
	for _, behavior := range []api.Behavior{api.BehaviorAllow, api.BehaviorDeny} {
		given := []runs.ApprovalDecision{
			{RequestID: "q", Behavior: behavior}, {RequestID: "p", Behavior: behavior, Remember: api.RememberSession},
		}
		for name, command := range map[string]runs.Command{
			"approvals": &runs.ResolveApprovals{RunID: "r", Resolutions: given},
			"by a key":  &runs.ResolveApprovals{RunID: "r", Resolutions: given, Key: "k"},
			"decisions": &runs.DecideRequests{RunID: "r", Approvals: given},
		} {
			before := len(h.events["s"])
			refused := h.refused(api.CodeForbidden, byAgentA(command))
			require.Contains(t, refused.Detail, "session s", name)
			require.Len(t, h.events["s"], before, name)
			require.True(t, h.request("r", "p").Open() && h.request("r", "q").Open(), name)
			require.Empty(t, h.rulesOf("s"), name)
		}
	}
	h.must(byAgentA(allow("r", "q")))
	require.Empty(t, h.rulesOf("s"))
	keyedRule := func() runs.Command { return keyed(remembering(allow("r", "p"), api.RememberSession), "k") }
	h.must(&runs.Call{Command: keyedRule(), Caller: &auth.Identity{Principal: "user:all", Role: api.RoleOperator, Via: auth.ViaToken}})
	require.Len(t, h.rulesOf("s"), 1)
	h.refused(api.CodeForbidden, byAgentA(keyedRule())) // as the role, the reach comes before a replay

	own := newHouse(t)
	own.raiseOf(api.KindInput, "a", "r", approval("p"))
	own.must(byAgentA(remembering(allow("r", "p"), api.RememberSession)))
	require.Len(t, own.rulesOf("s"), 1)
}
