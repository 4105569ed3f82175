package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

func TestRedeemGrant(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a"), approval("b"), approval("no"), question("q")))
	redeem := func(id string, change ...func(*runs.RedeemGrant)) runs.Command {
		command := &runs.RedeemGrant{RunID: "r", RequestID: id, Fence: 1}
		if request := h.states["s"].Requests[runs.RequestKey{RunID: "r", RequestID: id}]; request != nil {
			command.JTI = request.Handle
		}
		for _, apply := range change {
			apply(command)
		}
		return &runs.Call{Command: command, Caller: &auth.Identity{Principal: "agent:a"}}
	}
	// Only a recorded allow is a grant.
	h.refused(api.CodeInvalidGrant, redeem("a"))
	h.refused(api.CodeInvalidGrant, redeem("q"))
	h.refused(api.CodeRequestNotFound, redeem("x"))
	h.must(allow("r", "a", "b"))
	h.must(deny("r", "no"))
	h.must(answer("r", "q", "north"))
	h.refused(api.CodeInvalidGrant, redeem("no"))
	h.refused(api.CodeInvalidGrant, redeem("q"))
	h.refused(api.CodeInvalidGrant, redeem("a", func(c *runs.RedeemGrant) { c.JTI = h.request("r", "b").Handle }))
	h.refused(api.CodeLeaseLost, redeem("a", func(c *runs.RedeemGrant) { c.Fence = 2 }))
	h.refused(api.CodeLeaseLost, redeem("a", func(c *runs.RedeemGrant) { c.Fence = 0 }))
	h.refused(api.CodeRunNotFound, redeem("a", func(c *runs.RedeemGrant) { c.RunID = "other" }))

	events := len(h.events["s"])
	keyed := func(c *runs.RedeemGrant) { c.IdempotencyKey = "k" }
	first := h.must(redeem("a", keyed)).Redemption
	require.Equal(t, api.GrantRedemption{RedeemedAtMs: h.nowMs, RedeemedBy: "agent:a", Fence: "1"}, first.GrantRedemption)
	require.Len(t, h.events["s"], events+1)
	require.Equal(t, api.EventGrantRedeemed, h.events["s"][events].Type)
	require.Equal(t, "agent:a", h.events["s"][events].Actor)
	require.NotContains(t, string(h.request("r", "a").Redemption), `"k"`)
	refusal := h.refused(api.CodeIdempotencyConflict, redeem("b", keyed))
	require.Nil(t, refusal.Redemption)
	require.Len(t, h.events["s"], events+1, "one key redeems one grant")
	again := h.must(redeem("a", keyed))
	require.True(t, again.Existing)
	require.Equal(t, first, again.Redemption)
	for name, other := range map[string]runs.Command{
		"no key":      redeem("a"),
		"another key": redeem("a", func(c *runs.RedeemGrant) { c.IdempotencyKey = "l" }),
		"somebody":    &runs.Call{Command: &runs.RedeemGrant{RunID: "r", RequestID: "a", Fence: 1, JTI: first.JTI, IdempotencyKey: "k"}, Caller: &auth.Identity{Principal: "agent:b"}},
	} {
		require.Equal(t, first, h.refused(api.CodeGrantRedeemed, other).Redemption, name)
	}
	require.Len(t, h.events["s"], events+1)

	// A grant is valid as long as the current lease. A redemption persists under later leases.
	h.nowMs = h.run("r").LeaseExpiresAtMs - 1
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1, LeaseMs: api.MinLeaseMs})
	h.nowMs = h.run("r").LeaseExpiresAtMs
	h.refused(api.CodeGrantExpired, redeem("b"))
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
	h.nowMs = h.run("r").LeaseExpiresAtMs
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w2", Principal: "agent:a"}).Claim
	require.Equal(t, first.GrantRedemption, claim.Resume.Approvals[0].Resolution.Grant.GrantRedemption)
	require.Zero(t, claim.Resume.Approvals[1].Resolution.Grant.GrantRedemption)
	require.Equal(t, claim.Resume.Approvals[1].Resolution.Grant.Exp, claim.Lease.ExpiresAtMs/1000)
	require.Nil(t, claim.Resume.Approvals[2].Resolution.Grant)
	h.refused(api.CodeLeaseLost, redeem("b"))
	second := func(c *runs.RedeemGrant) { c.Fence = 2 }
	require.Equal(t, first, h.refused(api.CodeGrantRedeemed, redeem("a", second, keyed)).Redemption)
	// A stolen grant is useless to another principal.
	events = len(h.events["s"])
	found := &runs.RedeemGrant{RunID: "r", RequestID: "b", Fence: 2, JTI: h.request("r", "b").Handle}
	h.refused(api.CodeLeaseLost, &runs.Call{Command: found, Caller: agentNamed("agent:b")})
	require.Len(t, h.events["s"], events)
	h.must(redeem("b", second))
	h.must(&runs.Complete{RunID: "r", Fence: 2})
	h.refused(api.CodeRunStateConflict, redeem("b", second))
}

// TestGrantIsNeverStored: rows and events do not contain the grant that a view adds.
func TestGrantIsNeverStored(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a")))
	h.must(allow("r", "a"))
	require.NotContains(t, string(h.request("r", "a").Resolution), "grant")
	for _, event := range h.events["s"] {
		require.NotContains(t, string(event.Body), `"grant"`)
	}
}

// A grant that was posted to a callback needs no lease. It ends at its expiry, with a claim, and with
// the run, and can be redeemed only once.
func TestRedeemGrantOfACallback(t *testing.T) {
	t.Parallel()
	raised := func() (*house, func(id string, fence, expiresAtMs int64) runs.Command) {
		h := newHouse(t).start("r")
		h.must(suspend("r", 1, approval("a"), approval("b")))
		h.must(allow("r", "a", "b"))
		return h, func(id string, fence, expiresAtMs int64) runs.Command {
			return &runs.Call{Command: &runs.RedeemGrant{
				RunID: "r", RequestID: id, JTI: h.request("r", id).Handle, Fence: fence, WithoutLease: true, ExpiresAtMs: expiresAtMs,
			}, Caller: &auth.Identity{Principal: "agent:a"}}
		}
	}
	h, redeem := raised()
	h.refused(api.CodeGrantExpired, redeem("a", 1, h.nowMs))
	h.refused(api.CodeLeaseLost, redeem("a", 2, h.nowMs+1))
	h.must(redeem("a", 1, h.nowMs+1))
	h.refused(api.CodeGrantRedeemed, redeem("a", 1, h.nowMs+1))
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", Principal: "agent:b"}).Claim
	require.NotZero(t, claim.Resume.Approvals[0].Resolution.Grant.RedeemedAtMs, "every worker that claims sees it")
	h.refused(api.CodeLeaseLost, redeem("b", 1, h.nowMs+1))

	h, redeem = raised()
	h.must(&runs.CancelRun{RunID: "r"})
	h.refused(api.CodeRunStateConflict, redeem("a", 1, h.nowMs+1))
}
