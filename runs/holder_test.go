package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// TestPrincipalsAreKept: the principals that created the session, created the run, and claimed it last
// are stored. A second claim replaces the last one; the end of a lease does not.
func TestPrincipalsAreKept(t *testing.T) {
	h := parallelHouse(t)
	made := h.must(&runs.CreateSession{SessionID: "s", Principal: "user:mara"})
	require.Equal(t, "user:mara", made.Session.Principal)
	reply := h.must(&runs.CreateRun{
		RunID: "r", SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Principal: "agent:maker", Claim: &api.ClaimOptions{WorkerID: "w"},
	})
	require.Equal(t, "agent:maker", reply.Run.View().Principal)
	require.Equal(t, "agent:maker", reply.Run.View().Lease.HolderPrincipal)
	released := h.must(&runs.Release{RunID: "r", Fence: 1})
	require.Nil(t, released.Run.View().Lease)
	require.Equal(t, "agent:maker", released.Run.Run.HolderPrincipal)
	claimed := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", Principal: "agent:other"})
	require.Equal(t, "agent:other", claimed.Claim.Run.Lease.HolderPrincipal)
	require.Equal(t, "agent:maker", claimed.Run.Run.Principal)
	require.Equal(t, "user:mara", h.states["s"].Session.Principal, "even if others make runs in it")
	h.must(&runs.CreateRun{RunID: "elsewhere", SessionID: "t", SessionGiven: true, Input: api.JSON(`1`), Principal: "agent:maker"})
	require.Equal(t, "agent:maker", h.states["t"].Session.Principal)
}

func agentNamed(principal string) *auth.Identity {
	return &auth.Identity{Principal: principal, Role: api.RoleAdmin, Via: auth.ViaToken, TokenID: "t"}
}

// TestALeaseIsItsHoldersAlone: fences are easy to guess, so another principal's call with the right fence
// changes nothing. The same call by the holder works.
func TestALeaseIsItsHoldersAlone(t *testing.T) {
	t.Parallel()
	commands := map[string]func(fence int64) runs.Command{
		"Heartbeat": func(fence int64) runs.Command { return &runs.Heartbeat{RunID: "r", Fence: fence} },
		"Suspend":   func(fence int64) runs.Command { return suspend("r", fence, approval("b")) },
		"Withdraw":  func(fence int64) runs.Command { return &runs.Withdraw{RunID: "r", Fence: fence, RequestID: "a"} },
		"AskClarification": func(fence int64) runs.Command {
			return &runs.AskClarification{RunID: "r", Fence: fence, Request: question("q")}
		},
		"AppendEvents": func(fence int64) runs.Command {
			return &runs.AppendEvents{RunID: "r", Fence: fence, Events: []api.JSON{api.JSON(`{"type":"note"}`)}}
		},
		"Release":  func(fence int64) runs.Command { return &runs.Release{RunID: "r", Fence: fence} },
		"Complete": func(fence int64) runs.Command { return &runs.Complete{RunID: "r", Fence: fence} },
		"Fail":     func(fence int64) runs.Command { return &runs.Fail{RunID: "r", Fence: fence, Error: "no"} },
	}
	for name, command := range commands {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.must(&runs.CreateSession{SessionID: "parent"})
			h.must(&runs.CreateSession{SessionID: "s", ParentSessionID: "parent"})
			h.must(&runs.CreateRun{
				RunID: "r", SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Principal: "agent:holder", Claim: &api.ClaimOptions{WorkerID: "w"},
			})
			if name == "Withdraw" {
				held := suspend("r", 1, approval("a"))
				held.Hold = true
				h.must(held)
			}
			before := len(h.events["s"])
			h.refused(api.CodeLeaseLost, &runs.Call{Command: command(1), Caller: agentNamed("agent:thief")})
			require.Len(t, h.events["s"], before)
			h.must(&runs.Call{Command: command(1), Caller: agentNamed("agent:holder")})
		})
	}
	// Every command with a lease is in this test, or in TestRedeemGrant.
	for name, described := range allCommands() {
		if described.leased && name != "RedeemGrant" {
			require.Contains(t, commands, name)
		}
	}
}

// TestLeasesWithoutAHolder: the service's own leases, and leases without authentication.
func TestLeasesWithoutAHolder(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.CreateRun{RunID: "r", SessionID: "s", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	h.must(&runs.Call{Command: &runs.Heartbeat{RunID: "r", Fence: 1}, Caller: agentNamed("agent:any")})
	h.must(&runs.CreateRun{RunID: "r2", SessionID: "s2", Input: api.JSON(`1`), Principal: "agent:holder", Claim: &api.ClaimOptions{WorkerID: "w"}})
	h.must(&runs.Call{Command: &runs.Heartbeat{RunID: "r2", Fence: 1}, Caller: auth.Local()})
}

// TestAnUnboundAgentReachesItsOwn: for every command, another principal's session and run look to it as
// if they did not exist.
func TestAnUnboundAgentReachesItsOwn(t *testing.T) {
	t.Parallel()
	agent := &auth.Identity{Principal: "agent:one", Role: api.RoleAgent, Via: auth.ViaToken, TokenID: "t"}
	scope := reads.ScopeOf(agent)
	require.True(t, scope.Bounded())
	require.True(t, scope.Fits("s", "x", "", "agent:one"))
	require.False(t, scope.Fits("s", "x", "agent:two", ""))
	require.False(t, scope.Fits("s", "x"))
	require.True(t, scope.FitsNew("s", "x"))
	for _, other := range []*auth.Identity{
		{Principal: "agent:one", Role: api.RoleAgent, AgentIDs: []string{"x"}},
		{Principal: "agent:one", Role: api.RoleAgent, SessionPrefixes: []string{"s"}},
		{Principal: "agent:one", Role: api.RoleObserver},
		{Principal: "agent:one", Role: api.RoleOperator},
	} {
		bound := reads.ScopeOf(other)
		require.True(t, bound.Fits("s", "x", "agent:two"), "%+v", other)
		require.NotEqual(t, scope.Key(), bound.Key())
	}
	other := reads.ScopeOf(&auth.Identity{Principal: "agent:two", Role: api.RoleAgent})
	require.NotEqual(t, scope.Key(), other.Key())

	h := newHouse(t)
	queue := func(id, principal string) {
		h.must(&runs.CreateRun{RunID: "run-" + id, SessionID: id, SessionGiven: true, Input: api.JSON(`1`), Principal: principal})
	}
	queue("theirs", "agent:two")
	queue("own", "agent:one")
	asked := func(command runs.Command) runs.Command { return &runs.Call{Command: command, Caller: agent} }
	for id, code := range map[string]api.Code{"theirs": api.CodeRunNotFound, "nobody": api.CodeRunNotFound} {
		h.refused(code, asked(&runs.Heartbeat{RunID: "run-" + id, Fence: 1}))
		h.refused(code, asked(&runs.ClaimRun{RunID: "run-" + id, WorkerID: "w", Principal: "agent:one", Scope: scope}))
	}
	h.refused(api.CodeSessionNotFound, asked(&runs.ReadMailbox{SessionID: "theirs"}))
	h.refused(api.CodeSessionNotFound, asked(&runs.CreateSession{SessionID: "theirs", Principal: "agent:one"}))
	h.refused(api.CodeSessionNotFound, asked(&runs.CreateRun{SessionID: "theirs", SessionGiven: true, Input: api.JSON(`1`), Principal: "agent:one"}))
	h.refused(api.CodeIDConflict, asked(&runs.CreateRun{RunID: "run-theirs", SessionID: "new", SessionGiven: true, Input: api.JSON(`1`), Principal: "agent:one"}))
	require.True(t, h.must(asked(&runs.CreateSession{SessionID: "own", Principal: "agent:one"})).Existing)
	h.must(asked(&runs.CreateSession{SessionID: "made", Principal: "agent:one"}))
	h.must(asked(&runs.ClaimRun{RunID: "run-own", WorkerID: "w", Principal: "agent:one", Scope: scope}))
	h.must(asked(&runs.Heartbeat{RunID: "run-own", Fence: 1}))
	// The principal holds this run through another credential with a wider scope.
	h.must(&runs.ClaimRun{RunID: "run-theirs", WorkerID: "w", Principal: "agent:one"})
	h.must(asked(&runs.Heartbeat{RunID: "run-theirs", Fence: 1}))
	h.refused(api.CodeSessionNotFound, asked(&runs.ReadMailbox{SessionID: "theirs"}))
}
