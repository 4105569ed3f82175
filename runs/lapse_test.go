package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// A claim says whether the lease before it has lapsed. The number of attempts does not: a failed handler
// counts as one, and a suspension begins a new count.
func TestClaimAfterALapse(t *testing.T) {
	h := parallelHouse(t)
	requireClaim := func(lapsed bool, attempt int64) {
		t.Helper()
		reply := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(t, lapsed, reply.Lapsed)
		require.Equal(t, attempt, reply.Claim.Attempt)
	}
	h.create("r")
	requireClaim(false, 1)
	h.must(&runs.Release{RunID: "r", Fence: 1, LastError: "no disk"})
	requireClaim(false, 2)
	h.must(&runs.Release{RunID: "r", Fence: 2})
	h.nowMs += api.DefaultLeaseMs
	requireClaim(false, 2)
	h.nowMs += api.DefaultLeaseMs
	requireClaim(true, 3)

	h.must(suspend("r", 4, approval("a")))
	h.nowMs += api.DefaultLeaseMs
	h.must(allow("r", "a"))
	requireClaim(false, 1)

	// An attached worker dies while people decide, and after the decision.
	hold := func(fence int64, id string) {
		t.Helper()
		command := suspend("r", fence, approval(id))
		command.Hold = true
		h.must(command)
	}
	hold(5, "b")
	h.nowMs += api.DefaultLeaseMs
	h.must(allow("r", "b"))
	requireClaim(true, 1)
	hold(6, "c")
	h.must(allow("r", "c"))
	h.nowMs += api.DefaultLeaseMs
	requireClaim(true, 2)

	// An attached worker detaches its waiting run.
	hold(7, "d")
	h.must(&runs.Release{RunID: "r", Fence: 7})
	h.nowMs += api.DefaultLeaseMs
	h.must(allow("r", "d"))
	requireClaim(false, 1)
}
