package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// TestPrincipalsAreKept: of who made the session, who made the run, and who claimed it last, which a
// second claim replaces and the end of a lease does not.
func TestPrincipalsAreKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
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
	require.Equal(t, "user:mara", h.states["s"].Session.Principal, "whoever else makes runs in it")
	h.must(&runs.CreateRun{RunID: "elsewhere", SessionID: "t", SessionGiven: true, Input: api.JSON(`1`), Principal: "agent:maker"})
	require.Equal(t, "agent:maker", h.states["t"].Session.Principal)
}
