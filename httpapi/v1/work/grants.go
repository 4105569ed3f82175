package work

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// grants sign grants and answers, and verify grants. Without keys, nothing is signed and no grant is valid.
type grants struct {
	keys   *signing.Keys
	issuer string // the "iss"
}

// lease is the lease for whose holder something is signed. expiresAtMs is 0 when another worker has
// claimed the run since.
type lease struct {
	runID, agentID, fence string
	expiresAtMs           int64
}

func leaseOf(run *model.Run) lease {
	return lease{run.RunID, run.AgentID, model.FenceText(run.Fence), run.LeaseExpiresAtMs}
}

// sign sets the JWS of the grants and answers in a Resume, which may be nil, for the lease's holder.
// Redeemed grants are unchanged.
func (g *grants) sign(resume *api.Resume, holder lease) error {
	if resume == nil {
		return nil
	}
	for i := range resume.Approvals {
		if err := g.signApproval(&resume.Approvals[i], holder); err != nil {
			return err
		}
	}
	for i := range resume.Questions {
		if err := g.signAnswer(&resume.Questions[i], holder); err != nil {
			return err
		}
	}
	return nil
}

func (g *grants) signApproval(settled *api.SettledApproval, holder lease) error {
	grant := settled.Resolution.Grant
	if g.keys == nil || grant == nil || grant.Exp == 0 || grant.RedeemedAtMs != 0 {
		return nil
	}
	claims, err := document.GrantClaims(settled, grant, holder.runID, holder.agentID, holder.fence)
	if err != nil {
		return err
	}
	claims.Iss, claims.Iat = g.issuer, issuedAt(grant.Exp)
	signed, err := g.jws(api.GrantPurpose, claims)
	if err != nil {
		return err
	}
	settled.Resolution.Grant = &api.Grant{JWS: signed}
	return nil
}

func (g *grants) signAnswer(settled *api.SettledQuestion, holder lease) error {
	if g.keys == nil || settled.Resolution.Outcome != api.OutcomeAnswered || holder.expiresAtMs == 0 {
		return nil
	}
	claims, err := document.AnswerClaims(settled, holder.runID, holder.agentID, holder.fence)
	if err != nil {
		return err
	}
	claims.Iss, claims.Exp = g.issuer, holder.expiresAtMs/time.Second.Milliseconds()
	claims.Iat = issuedAt(claims.Exp)
	settled.Resolution.Signature, err = g.jws(api.AnswerPurpose, claims)
	return err
}

// issuedAt returns the "iat" of a signature that expires at exp. It is informative; nothing is decided
// by it.
func issuedAt(exp int64) int64 { return min(time.Now().Unix(), exp) } //nolint:forbidigo // see above

func (g *grants) jws(purpose string, claims any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	return g.keys.Sign(purpose, payload)
}

// redeemGrant records that the lease's holder is about to run the approved call.
func (h *Handlers) redeemGrant(w http.ResponseWriter, r *http.Request) error {
	var body api.RedeemGrantBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	digest := document.WholeDigest(body.InputDigest)
	if !document.ValidDigest(digest) || strings.HasPrefix(digest, document.KeyedDigestPrefix) {
		faults.AddBeside(api.Fault{Pointer: "/input_digest", Detail: `must be "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of the input`})
	}
	if err := faults.Err(); err != nil {
		return err
	}
	key, _, err := kit.Credentials(r, &faults, body.IdempotencyKey, &runs.RedeemGrant{})
	if err != nil {
		return err
	}
	claims, err := h.grants.verify(r, body.Grant)
	if err != nil {
		return err
	}
	if claims.InputDigest != digest {
		return refusal.New(api.CodeGrantMismatch, "the grant is for an input with the digest %s", claims.InputDigest)
	}
	fence, ok := wire.Decimal(claims.Fence)
	if !ok {
		return errInvalidGrant("it has no fence")
	}
	reply, err := h.DoOnRun(r, claims.Sub, &runs.RedeemGrant{
		RunID: claims.Sub, RequestID: claims.RequestID, JTI: claims.JTI, Fence: fence, IdempotencyKey: key,
		WithoutLease: claims.Callback, ExpiresAtMs: claims.Exp * 1000,
	})
	if err != nil {
		return err
	}
	wire.MarkReplayed(w, reply.Existing)
	return wire.Respond(w, r, http.StatusOK, reply.Redemption)
}

// verify returns a grant's claims. Errors: invalid_grant; errors of [signing.Keeper].
func (g *grants) verify(r *http.Request, text string) (*api.GrantClaims, error) {
	if g.keys == nil {
		return nil, refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	if len(text) > api.MaxGrantBytes {
		return nil, errInvalidGrant("it is too long")
	}
	payload, err := g.keys.Verify(r.Context(), api.GrantPurpose, text)
	if errors.Is(err, signing.ErrInvalid) {
		return nil, errInvalidGrant(strings.TrimPrefix(err.Error(), signing.ErrInvalid.Error()+": "))
	}
	if err != nil {
		return nil, err
	}
	var claims api.GrantClaims
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, errInvalidGrant("its claims cannot be read")
	}
	return &claims, nil
}

func errInvalidGrant(why string) error {
	return refusal.New(api.CodeInvalidGrant, "it is not a grant of this service: %s", wire.Shown(why))
}
