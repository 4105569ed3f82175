package client

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// Sentinels of grants, for [VerifyGrant] and [Client.RedeemGrant].
var (
	// ErrGrantInvalid: it is no grant that the service signed, or one of another request
	// (invalid_grant).
	ErrGrantInvalid = errors.New("no grant of the service")
	// ErrGrantMismatch: it is for another tool or another input (grant_mismatch).
	ErrGrantMismatch = errors.New("the grant is for something else")
	// ErrGrantExpired: the lease that it came with has run out (grant_expired).
	ErrGrantExpired = errors.New("the grant has expired")
	// ErrGrantRedeemed: it was redeemed before; Error.Redemption says when and by whom
	// (grant_redeemed).
	ErrGrantRedeemed = errors.New("the grant was redeemed before")
)

// InputDigest returns "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of a value with a
// JSON form, in which integers beyond 2^53 keep their digits; give JSON text as [api.JSON], or integers
// as int64 or [big.Int]. Errors: [ErrInvalid].
func InputDigest(input any) (string, error) {
	text, err := EncodeJSON(input)
	if err != nil {
		return "", fmt.Errorf("%w: input: %w", ErrInvalid, err)
	}
	form, err := canonical.Text(text)
	if err != nil {
		return "", fmt.Errorf("%w: input: %w", ErrInvalid, err)
	}
	sum := sha256.Sum256(form)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// VerifyGrant checks without the service that a grant ([api.Grant], its JWS) allows a tool to run
// with an input, of any type with a JSON form, and returns what else it says. It does not say
// whether the grant was redeemed, or its lease lost since: [Client.RedeemGrant] does. Whoever
// verifies grants alone and must not do a thing twice keeps the JTI of what was done. The keys are
// those of [Client.Keys]; read them again when a key is not known, as replicas get new ones.
//
// Errors: [ErrGrantInvalid]; [ErrGrantMismatch]; [ErrGrantExpired]; [ErrInvalid] for an input
// without a JSON form.
func VerifyGrant(keys api.KeySet, grant, tool string, input any) (*api.GrantClaims, error) {
	payload, err := verifyJWS(keys, grant)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGrantInvalid, err)
	}
	var claims api.GrantClaims
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, fmt.Errorf("%w: its claims cannot be read", ErrGrantInvalid)
	}
	digest, err := InputDigest(input)
	if err != nil {
		return nil, err
	}
	switch {
	case claims.Exp <= time.Now().Unix():
		return nil, fmt.Errorf("%w: at %s", ErrGrantExpired, time.Unix(claims.Exp, 0).UTC().Format(time.RFC3339))
	case claims.ToolName != tool:
		return nil, fmt.Errorf("%w: for the tool %q", ErrGrantMismatch, claims.ToolName)
	case claims.InputDigest != digest:
		return nil, fmt.Errorf("%w: for an input with the digest %s", ErrGrantMismatch, claims.InputDigest)
	}
	return &claims, nil
}

// verifyJWS returns the payload of a grant. The header has three members and no more, so nothing
// in it can ask for another way to verify.
func verifyJWS(keys api.KeySet, text string) ([]byte, error) {
	parts := strings.Split(text, ".")
	const count = 3
	if len(text) > api.MaxGrantBytes || len(parts) != count {
		return nil, errors.New("it is not a compact JWS")
	}
	var decoded [count][]byte
	for i, part := range parts {
		var err error
		if decoded[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return nil, errors.New("it is not a compact JWS")
		}
	}
	var header struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
		Typ string `json:"typ"`
	}
	if err := json.Unmarshal(decoded[0], &header, json.RejectUnknownMembers(true)); err != nil {
		return nil, errors.New("its header cannot be read")
	}
	if header.Alg != "EdDSA" || header.Typ != api.GrantPurpose {
		return nil, fmt.Errorf("its header says %.40q by %.40q", header.Typ, header.Alg)
	}
	for _, key := range keys.Keys {
		if key.Kid != header.Kid || key.Kty != "OKP" || key.Crv != "Ed25519" {
			continue
		}
		x, err := base64.RawURLEncoding.Strict().DecodeString(key.X)
		if err != nil || len(x) != ed25519.PublicKeySize || !ed25519.Verify(x, []byte(parts[0]+"."+parts[1]), decoded[2]) {
			return nil, errors.New("its signature does not hold")
		}
		return decoded[1], nil
	}
	return nil, fmt.Errorf("its key %.80q is not among those given", header.Kid)
}

// RedeemGrantParams redeem a grant.
type RedeemGrantParams struct {
	// Grant is the JWS of [api.Grant].
	Grant string
	// Input is what is about to run, of any type with a JSON form; give JSON text as [api.JSON].
	Input any
	// IdempotencyKey is made by the client when empty.
	IdempotencyKey string
}

// RedeemGrant redeems a grant, once, under the lease with which it came. Call it just before doing
// what was approved, and do it only when there is no error. Errors: [ErrGrantInvalid];
// [ErrGrantMismatch]; [ErrGrantExpired]; [ErrGrantRedeemed]; [ErrLeaseLost]; [ErrRunState];
// [ErrNotFound]; [ErrInvalid]. After [ErrUnavailable] it may be redeemed: only the same call with
// the same key says.
func (c *Client) RedeemGrant(ctx context.Context, params RedeemGrantParams) (*api.Redemption, error) {
	digest, err := InputDigest(params.Input)
	if err != nil {
		return nil, err
	}
	k := newKey(params.IdempotencyKey)
	redemption := &api.Redemption{}
	_, err = c.do(ctx, call{
		method: http.MethodPost, path: at("/v1/grants/redeem"), key: k, out: redemption, repeat: always,
		body: api.RedeemGrantBody{IdempotencyKey: k.inBody, Grant: params.Grant, InputDigest: digest},
	})
	if err != nil {
		return nil, err
	}
	return redemption, nil
}

// RedeemGrant redeems the grant of an approval that Approve, or [Task.Resume], returned, just before
// the task does what was approved; input is what is about to run. Errors: those of
// [Client.RedeemGrant]; ErrGrantRedeemed also when the claim shows that a worker before was about to.
func (t *Task) RedeemGrant(ctx context.Context, resolution api.Resolution, input any) (*api.Redemption, error) {
	grant := resolution.Grant
	switch {
	case grant == nil:
		return nil, fmt.Errorf("%w: request %s was %s and has none", ErrGrantInvalid, resolution.RequestID, resolution.Outcome)
	case grant.RedeemedAtMs != 0:
		return nil, fmt.Errorf("%w: request %s under fence %s", ErrGrantRedeemed, resolution.RequestID, grant.Fence)
	}
	ctx, done := t.whileLeased(ctx)
	defer done()
	redemption, err := t.client.RedeemGrant(ctx, RedeemGrantParams{Grant: grant.JWS, Input: input})
	if err != nil {
		return nil, t.handleRefusal(err)
	}
	return redemption, nil
}
