package api

import "encoding/json"

// MaxGrantBytes is the maximum length of a grant's text.
const MaxGrantBytes = 64 << 10

// GrantPurpose is the "typ" of a grant's JWS.
const GrantPurpose = "holdpoint-grant+jwt"

// Grant is the permission that an allowed approval gives to the worker that holds the run's lease.
// On the wire it is the JWS as a string when JWS is set, and otherwise an object with the other
// members.
type Grant struct {
	// JWS is a compact JWS (EdDSA) of [GrantClaims]. It is set only in replies to the holder of the
	// fence (a claim, the decisions of an attached worker, a suspension that was allowed at once),
	// and only until the grant is redeemed. The other members are then empty.
	JWS string `json:"-"`
	// JTI is the handle of the approval. It is the same in every claim of the run, so a worker can
	// tell that it already ran the approved call.
	JTI string `json:"jti"`
	// Exp is the end of the run's lease in seconds since the epoch; 0 without a lease.
	Exp int64 `json:"exp,omitempty"`
	GrantRedemption
}

// GrantRedemption says when a grant was redeemed, by which principal, and under which fence. Its
// members are empty before redemption.
type GrantRedemption struct {
	RedeemedAtMs int64  `json:"redeemed_at_ms,omitempty"`
	RedeemedBy   string `json:"redeemed_by,omitempty"`
	Fence        string `json:"fence,omitempty"`
}

// MarshalJSON returns the JWS as a string, or the object.
func (g Grant) MarshalJSON() ([]byte, error) {
	if g.JWS != "" {
		return json.Marshal(g.JWS)
	}
	type object Grant
	return json.Marshal(object(g))
}

// UnmarshalJSON reads either form.
func (g *Grant) UnmarshalJSON(text []byte) error {
	*g = Grant{}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &g.JWS)
	}
	type object Grant
	return json.Unmarshal(text, (*object)(g))
}

// GrantClaims are the claims of a grant's JWS.
type GrantClaims struct {
	// Iss is the service's external URL, or "holdpoint".
	Iss string `json:"iss"`
	// Aud is the run's agent, Sub the run.
	Aud       string `json:"aud"`
	Sub       string `json:"sub"`
	RequestID string `json:"request_id"`
	ToolName  string `json:"tool_name"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of the input that
	// may run: after edits, with sensitive values in clear.
	InputDigest string `json:"input_digest"`
	// Fence is the claim's fence as decimal text.
	Fence string `json:"fence"`
	// Iat and Exp are in seconds since the epoch. Exp is the end of the lease at the time of
	// signing.
	Iat int64 `json:"iat"`
	Exp int64 `json:"exp"`
	// JTI is the handle of the approval.
	JTI string `json:"jti"`
	// ResolvedBy is the principal that allowed the call; RuleID is the rule that allowed it, if
	// any.
	ResolvedBy string `json:"resolved_by"`
	RuleID     string `json:"rule_id,omitempty"`
	// Callback is set in a grant that was sent to a callback. It is valid until Exp or until the
	// run is claimed under a later fence, and needs no lease.
	Callback bool `json:"callback,omitzero"`
}

// RedeemGrantBody redeems a grant.
type RedeemGrantBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	// Grant is the JWS, at most [MaxGrantBytes].
	Grant string `json:"grant" body:"required"`
	// InputDigest is the digest of the input that is about to run. The "sha256:" may be omitted.
	InputDigest string `json:"input_digest" body:"required"`
}

// Redemption is the reply to a [RedeemGrantBody], and part of the error for a later one.
type Redemption struct {
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
	JTI       string `json:"jti"`
	GrantRedemption
}

// WithoutLease returns the Resume with grants that cannot be redeemed. It may modify the Resume,
// which may be nil.
func (r *Resume) WithoutLease() *Resume {
	if r != nil {
		for i := range r.Approvals {
			if grant := r.Approvals[i].Resolution.Grant; grant != nil {
				grant.Exp = 0
			}
		}
	}
	return r
}
