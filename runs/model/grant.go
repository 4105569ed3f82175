package model

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Redemption is the one time that the grant of an approval was redeemed.
type Redemption struct {
	api.GrantRedemption
	// KeyDigest is the digest of the idempotency key of the call, by which its repetition is known;
	// empty without one.
	KeyDigest string `json:"key_digest,omitempty"`
}

// Redeemed returns when, by whom and under which fence the grant was redeemed; nil when it was not.
func (r *Request) Redeemed() *Redemption {
	if r.Redemption == nil {
		return nil
	}
	redemption := &Redemption{}
	document.DecodeStored(r.Redemption, redemption)
	return redemption
}

// Grant returns what anybody may see of the grant of an allowed approval, nil for every other
// request. leaseExpiresAtMs is the end of its run's lease, 0 while nobody has one.
func (r *Request) Grant(leaseExpiresAtMs int64) *api.Grant {
	if r.Kind != KindApproval || r.Outcome != api.OutcomeAllowed {
		return nil
	}
	// Whoever verifies without the service must not believe it longer than the lease lasts.
	const second = 1000
	grant := &api.Grant{JTI: r.Handle, Exp: leaseExpiresAtMs / second}
	if redeemed := r.Redeemed(); redeemed != nil {
		grant.GrantRedemption = redeemed.GrantRedemption
	}
	return grant
}
