package auth

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Create creates a token. A repeated call with the same key and principal returns the existing
// token without its secret. Errors: invalid_request, idempotency_conflict; errors of [Tokens].
func (k *Keyring) Create(ctx context.Context, body *api.CreateTokenBody, createdBy, key string) (reply api.TokenSecret, replayed bool, err error) {
	token, err := newToken(body, k.nowMs())
	if err == nil {
		err = k.checkFirst(ctx, token.Role)
	}
	if err != nil {
		return k.createdBefore(ctx, body, createdBy, key, err)
	}
	secret := NewSecret()
	token.TokenID, token.CreatedBy = k.newID(PrefixToken), createdBy
	token.SecretHash, token.Hint = HashOf(secret), HintOf(secret)
	if key != "" {
		token.Key, token.Fingerprint = key, fingerprint(body)
	}
	kept, err := k.tokens.AddToken(ctx, token, token.created(From(ctx)))
	if err != nil {
		k.openUntilMs.Store(0) // it may have been written
		return api.TokenSecret{}, false, err
	}
	k.shut()
	switch {
	case kept.TokenID == token.TokenID:
		return api.TokenSecret{Token: kept.View(), Secret: secret}, false, nil
	case kept.Fingerprint != token.Fingerprint:
		return api.TokenSecret{}, false, refusal.New(api.CodeIdempotencyConflict, "token operation idempotency key was reused with a different request payload")
	}
	return api.TokenSecret{Token: kept.View(), SecretShown: true}, true, nil
}

// checkFirst refuses a first token over HTTP that is not an admin's. With it the service would require a token from
// everyone, and nobody could create another one.
func (k *Keyring) checkFirst(ctx context.Context, role api.Role) error {
	caller := From(ctx)
	if k.mode != Auto || role == api.RoleAdmin || caller == nil || caller.Via != ViaOpen {
		return nil
	}
	return refusal.Invalid(api.Fault{
		Pointer: "/role", Detail: "must be admin for the first token: once it exists every call needs a token, and only an admin creates others",
	})
}

// createdBefore answers a body that is invalid now: with the token that the same body and key have created, whose
// expiry may have passed since, or else with the fault.
func (k *Keyring) createdBefore(ctx context.Context, body *api.CreateTokenBody, createdBy, key string, fault error) (reply api.TokenSecret, replayed bool, err error) {
	if key == "" {
		return api.TokenSecret{}, false, fault
	}
	kept, err := k.tokens.TokenByKey(ctx, createdBy, key)
	switch {
	case err != nil:
		return api.TokenSecret{}, false, err
	case kept == nil || kept.Fingerprint != fingerprint(body):
		return api.TokenSecret{}, false, fault
	}
	return api.TokenSecret{Token: kept.View(), SecretShown: true}, true, nil
}

// Token returns a token. Errors: token_not_found; errors of [Tokens].
func (k *Keyring) Token(ctx context.Context, tokenID string) (*Token, error) {
	if !refusal.ValidID(tokenID) {
		return nil, UnknownToken()
	}
	token, err := k.tokens.Token(ctx, tokenID)
	if err != nil {
		return nil, err
	}
	one := []Token{*token}
	k.addUses(one)
	return &one[0], nil
}

// UnknownToken returns token_not_found.
func UnknownToken() error { return refusal.New(api.CodeTokenNotFound, "there is no such token") }

// List returns a page of tokens. It sets q.NowMs.
func (k *Keyring) List(ctx context.Context, q TokenQuery) ([]Token, error) {
	q.NowMs = k.nowMs()
	tokens, err := k.tokens.ListTokens(ctx, q)
	k.addUses(tokens)
	return tokens, err
}

// Rotate gives a token a new secret. The current one stays valid for graceMs; the one before it
// stops working. Errors: invalid_request, token_not_found, token_state_conflict for an inactive
// token; errors of [Tokens].
func (k *Keyring) Rotate(ctx context.Context, tokenID string, graceMs int64) (api.TokenSecret, error) {
	if graceMs < 0 || graceMs > api.MaxTokenGraceMs {
		return api.TokenSecret{}, refusal.Invalid(api.Fault{Pointer: "/grace_ms", Detail: "must be between 0 and 604800000"})
	}
	if !refusal.ValidID(tokenID) {
		return api.TokenSecret{}, UnknownToken()
	}
	before, err := k.tokens.Token(ctx, tokenID)
	if err != nil {
		return api.TokenSecret{}, err
	}
	if before.vouched() {
		return api.TokenSecret{}, errVouched(before.CreatedBy)
	}
	secret, nowMs := NewSecret(), k.nowMs()
	rotated, err := k.tokens.RotateToken(ctx, tokenID, HashOf(secret), HintOf(secret), nowMs+graceMs, nowMs,
		ChangeBy(From(ctx), nowMs, api.AuditEvent{Type: api.AuditTokenRotated, TokenID: tokenID, GraceMs: graceMs}))
	if err != nil {
		return api.TokenSecret{}, err
	}
	read := ctx
	if rotated {
		// Only this reply has the secret, so the read may fail and must not hang.
		bounded, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		read = bounded
	}
	token, err := k.tokens.Token(read, tokenID)
	if err != nil && rotated {
		now := *before
		now.SecretHash, now.Hint, now.PreviousHash, now.PreviousUntilMs = HashOf(secret), HintOf(secret), before.SecretHash, nowMs+graceMs
		token, err = &now, nil
	}
	if err != nil {
		return api.TokenSecret{}, err
	}
	if !rotated {
		return api.TokenSecret{}, refusal.New(api.CodeTokenStateConflict, "the token is %s", token.StateAt(nowMs))
	}
	k.forgetToken(tokenID, func(hash string) bool { return token.AcceptsAt(hash, k.nowMs()) })
	return api.TokenSecret{Token: token.View(), Secret: secret}, nil
}

// Revoke revokes a token. Revoking a revoked token has no effect. With keepAdmin and without an
// issuer, the last active admin token is refused. Errors: token_not_found, last_admin_token; errors
// of [Tokens].
func (k *Keyring) Revoke(ctx context.Context, tokenID string, keepAdmin bool) error {
	if !refusal.ValidID(tokenID) {
		return UnknownToken()
	}
	nowMs := k.nowMs()
	changed, err := k.tokens.RevokeToken(ctx, tokenID, keepAdmin && !k.issuer, nowMs,
		ChangeBy(From(ctx), nowMs, api.AuditEvent{Type: api.AuditTokenRevoked, TokenID: tokenID}))
	if err != nil {
		return err
	}
	if !changed {
		token, err := k.tokens.Token(ctx, tokenID)
		if err != nil {
			return err
		}
		if token.RevokedAtMs == 0 {
			return refusal.New(api.CodeLastAdminToken, "this is the last active admin token: create another one first, "+
				"or revoke it with holdpoint tokens revoke --database")
		}
	}
	k.forgetToken(tokenID, func(string) bool { return false })
	return nil
}
