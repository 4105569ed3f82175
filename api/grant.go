package api

import "encoding/json"

// MaxGrantBytes bounds the text of a grant.
const MaxGrantBytes = 64 << 10

// GrantPurpose is the "typ" of a grant's JWS.
const GrantPurpose = "holdpoint-grant+jwt"

// Grant is the permission that an allowed approval gives to the worker that has the lease of its
// run. On the wire it is the JWS as a text where that is set, and an object with the rest where it
// is not.
type Grant struct {
	// JWS is a compact JWS (EdDSA) of [GrantClaims]. It is set only in what the holder of the fence
	// reads (a claim, the decisions of an attached worker, a suspension that was allowed at once),
	// and only until the grant was redeemed. The other members are then empty.
	JWS string `json:"-"`
	// JTI is the handle of the approval. It is the same in every claim of the run, so whoever
	// carries out what was approved can tell by it that it did so before.
	JTI string `json:"jti"`
	// Exp is the end of the run's lease, in seconds since the epoch; 0 while nobody has one.
	Exp int64 `json:"exp,omitempty"`
	GrantRedemption
}

// GrantRedemption says when a grant was redeemed, by which principal, and under which fence. Its
// members are empty until then.
type GrantRedemption struct {
	RedeemedAtMs int64  `json:"redeemed_at_ms,omitempty"`
	RedeemedBy   string `json:"redeemed_by,omitempty"`
	Fence        string `json:"fence,omitempty"`
}

// MarshalJSON returns the JWS as a text, or the object.
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

// GrantClaims is what the JWS of a grant says.
type GrantClaims struct {
	// Iss is the service's external URL, or "holdpoint".
	Iss string `json:"iss"`
	// Aud is the agent of the run, Sub the run.
	Aud       string `json:"aud"`
	Sub       string `json:"sub"`
	RequestID string `json:"request_id"`
	ToolName  string `json:"tool_name"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of the input that
	// may run: after edits, and with what is sensitive of it in clear.
	InputDigest string `json:"input_digest"`
	// Fence is that of the claim, in decimal text.
	Fence string `json:"fence"`
	// Iat and Exp are in seconds since the epoch. Exp is the end of the lease when it was signed.
	Iat int64 `json:"iat"`
	Exp int64 `json:"exp"`
	// JTI is the handle of the approval.
	JTI string `json:"jti"`
	// ResolvedBy is who allowed it, RuleID the rule by which, if one did.
	ResolvedBy string `json:"resolved_by"`
	RuleID     string `json:"rule_id,omitempty"`
	// Callback is set in a grant that was posted to a callback: it holds until Exp, or until the run is
	// claimed under a later fence, and takes no lease.
	Callback bool `json:"callback,omitzero"`
}

// RedeemGrantBody redeems a grant.
type RedeemGrantBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	// Grant is the JWS, at most [MaxGrantBytes].
	Grant string `json:"grant" body:"required"`
	// InputDigest is that of the input that is about to run; "sha256:" may be left out.
	InputDigest string `json:"input_digest" body:"required"`
}

// Redemption is the reply to a [RedeemGrantBody], and what a later one is refused with.
type Redemption struct {
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
	JTI       string `json:"jti"`
	GrantRedemption
}

// WithoutLease returns the Resume with grants that nobody may use. It may change the Resume, which
// may be nil.
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
