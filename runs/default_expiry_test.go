package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// A request without a deadline gets the default one when it is raised. It is recorded with the request, and
// a change of the setting affects new requests only.
func TestRequestsGetTheDefaultDeadline(t *testing.T) {
	t.Parallel()
	const day = int64(86_400_000)
	h := newHouse(t).start("r")
	h.states["s"].DefaultExpiryMs = day
	own, plain := approval("own"), approval("plain")
	own.ExpiresAfterMs = ms(5_000)
	h.decided(suspend("r", 1, own, plain, question("q")))
	h.states["s"].DefaultExpiryMs = 0
	require.Equal(t, h.nowMs+5_000, h.request("r", "own").DueAtMs, "its own deadline counts")
	due := h.nowMs + day
	for _, id := range []string{"plain", "q"} {
		require.Equal(t, due, h.request("r", id).DueAtMs, id)
	}
	require.Equal(t, due, *h.request("r", "plain").Approval().ExpiresAtMs, "people and workers see it")
	h.nowMs = due - 1
	h.must(allow("r", "plain"))
	h.nowMs = due
	h.must(&runs.ExpireRequests{RunID: "r"})
	require.Equal(t, api.OutcomeExpired, h.request("r", "q").Outcome)

	h = newHouse(t).start("r")
	h.must(suspend("r", 1, approval("a")))
	require.Zero(t, h.request("r", "a").DueAtMs, "there is no default by default")
}

// A question to the parent's session gets its deadline when the child asks it, not when it arrives there.
func TestAClarificationGetsTheDefaultDeadline(t *testing.T) {
	h := parallelHouse(t).family()
	due := h.nowMs + 60_000
	h.states["s"].DefaultExpiryMs = 60_000
	reply, _ := h.decided(ask("q"))
	h.states["s"].DefaultExpiryMs = 0
	h.nowMs += 10
	require.Equal(t, 1, h.carryOut())
	require.Equal(t, due, h.request(reply.Clarification.RunID, "q").DueAtMs)
}
