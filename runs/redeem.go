package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// RedeemGrant records that the holder of a lease is about to do what was approved
// (docs/spec/v1.md#grants). The issuer of the command has verified the grant.
//
// Reply: Redemption; Existing when the same key already redeemed it. Errors: run_not_found;
// request_not_found; invalid_grant when it is another request's grant; lease_lost;
// run_state_conflict; idempotency_conflict when the key redeemed another grant of the session;
// grant_redeemed with the first redemption; grant_expired when the lease has expired.
type RedeemGrant struct {
	RunID     string
	RequestID string
	// JTI is the request's handle.
	JTI            string
	Fence          int64
	IdempotencyKey string
	// WithoutLease is for a grant that was posted to a callback: it needs no lease and expires at
	// ExpiresAtMs.
	WithoutLease bool
	ExpiresAtMs  int64

	heldKey
}

// Spec implements Command.
func (c *RedeemGrant) Spec() Spec {
	return Spec{
		Name: "RedeemGrant", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence}, Unleased: c.WithoutLease,
		Settles: true, size: oneRow,
	}
}

// Needs implements Command.
func (c *RedeemGrant) Needs() Needs {
	return Needs{RunID: c.RunID, RequestIDs: validIDs(c.RequestID), Record: c.recordKey("")}
}

func (c *RedeemGrant) prepare(*Call, IDSource) error {
	if c.IdempotencyKey == "" {
		return nil
	}
	// The record stops the key from redeeming another grant.
	var err error
	c.heldKey, err = heldKeyOf("grant", c.IdempotencyKey, map[string]string{"jti": c.JTI})
	return err
}

func (c *RedeemGrant) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if err := c.checkHolder(w, run); err != nil {
		return Reply{}, err
	}
	request := w.request(run.RunID, c.RequestID)
	switch {
	case request == nil:
		return Reply{}, refusal.New(api.CodeRequestNotFound, "unknown request %s of run %s", c.RequestID, run.RunID)
	case request.Kind != model.KindApproval || request.Outcome != api.OutcomeAllowed || request.Handle != c.JTI:
		return Reply{}, refusal.New(api.CodeInvalidGrant, "it is not the grant of request %s", c.RequestID)
	}
	caller := cmp.Or(w.actor, api.ResolvedBySystem)
	_, recorded, err := c.find(w, run)
	if err != nil {
		return Reply{}, err
	}
	if redeemed := request.Redeemed(); redeemed != nil {
		redemption := redemptionOf(request, redeemed.GrantRedemption)
		if c.digest != "" && c.digest == redeemed.KeyDigest && redeemed.Fence == model.FenceText(c.Fence) && redeemed.RedeemedBy == caller {
			return Reply{Redemption: redemption, Existing: true}, nil
		}
		refused := refusal.New(api.CodeGrantRedeemed, "the grant of request %s was redeemed under fence %s", c.RequestID, redeemed.Fence)
		refused.Redemption = redemption
		return Reply{}, refused
	}
	if c.WithoutLease && c.ExpiresAtMs <= w.nowMs {
		return Reply{}, refusal.New(api.CodeGrantExpired, "the grant of request %s that was posted to its callback has run out", c.RequestID)
	}
	if !c.WithoutLease && run.LeaseExpiresAtMs <= w.nowMs {
		return Reply{}, refusal.New(api.CodeGrantExpired, "the lease of run %s has run out, and the grant with it", run.RunID)
	}
	by := api.GrantRedemption{RedeemedAtMs: w.nowMs, RedeemedBy: caller, Fence: model.FenceText(c.Fence)}
	w.redeemRequest(request, model.Redemption{GrantRedemption: by, KeyDigest: c.digest})
	if !recorded {
		c.write(w, run, 0)
	}
	w.emit(run, api.EventGrantRedeemed, grantRedeemedEvent{
		Type: api.EventGrantRedeemed, RequestID: request.RequestID, JTI: request.Handle, ToolName: request.Approval().ToolName, GrantRedemption: by,
	})
	w.saveRun(run)
	return Reply{Redemption: redemptionOf(request, by)}, nil
}

// checkHolder checks that no other worker has claimed the run. A callback's grant is valid until the
// first claim after the decision.
func (c *RedeemGrant) checkHolder(w *workingCopy, run *model.Run) error {
	switch {
	case !c.WithoutLease:
		return w.checkHolder(run, c.Fence)
	case model.Terminal(run.Status):
		return refusal.New(api.CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status)
	case run.Fence != c.Fence:
		return refusal.New(api.CodeLeaseLost, "run %s was claimed since", run.RunID)
	}
	return nil
}

func redemptionOf(request *model.Request, by api.GrantRedemption) *api.Redemption {
	return &api.Redemption{RunID: request.RunID, RequestID: request.RequestID, JTI: request.Handle, GrantRedemption: by}
}
