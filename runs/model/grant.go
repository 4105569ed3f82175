package model

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Redemption records the one redemption of an approval's grant.
type Redemption struct {
	api.GrantRedemption
	// KeyDigest is the digest of the call's idempotency key, by which a retry is recognized;
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

// Grant returns the public part of an allowed approval's grant, nil for other requests.
// leaseExpiresAtMs is the end of its run's lease, 0 without a lease.
func (r *Request) Grant(leaseExpiresAtMs int64) *api.Grant {
	if r.Kind != KindApproval || r.Outcome != api.OutcomeAllowed {
		return nil
	}
	// An offline verifier must not trust the grant after the lease ends.
	const second = 1000
	grant := &api.Grant{JTI: r.Handle, Exp: leaseExpiresAtMs / second}
	if redeemed := r.Redeemed(); redeemed != nil {
		grant.GrantRedemption = redeemed.GrantRedemption
	}
	return grant
}
