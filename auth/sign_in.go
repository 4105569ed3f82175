package auth

import (
	"context"
	"log/slog"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	// SignInLifetimeMs is how long a browser without calls stays signed in.
	SignInLifetimeMs = 12 * 60 * minuteMs
	// MaxSignIns is the maximum number of browsers signed in with one token. A new one replaces the
	// one that was idle the longest.
	MaxSignIns = 100
	// renewAfterMs is the age after which a call extends the sign-in to its full lifetime.
	renewAfterMs = 10 * minuteMs
	// signInKey is the prefix of cookies in the keyring's cache, so that a cookie never works as a
	// token, nor a token as a cookie.
	signInKey = "sign-in "
)

// SignIn is a signed-in browser. Its cookie cannot be derived from it.
type SignIn struct {
	// CookieHash is the hash of the cookie's value.
	CookieHash  string
	TokenID     string
	CreatedAtMs int64
	ExpiresAtMs int64
}

// SignIns stores the signed-in browsers. Every engine implements it, with the errors of [Tokens].
type SignIns interface {
	// AddSignIn inserts a sign-in. It deletes those that expired before its creation, and the
	// oldest beyond [MaxSignIns] of its token. With a rotated secret the sign-in expires when the
	// secret does, if that is earlier. Errors: invalid_token for a revoked token, and unless
	// secretHash is "" or the hash of a secret that still works.
	AddSignIn(ctx context.Context, in *SignIn, secretHash string, entry *journal.Entry) error
	// SignInsByHash returns the existing sign-ins, each with its token.
	SignInsByHash(ctx context.Context, cookieHashes []string) ([]SignedIn, error)
	// RenewSignIn sets a later expiry. An earlier one is ignored.
	RenewSignIn(ctx context.Context, cookieHash string, expiresAtMs int64) error
	// EndSignIn deletes a sign-in if it exists.
	EndSignIn(ctx context.Context, cookieHash string, entry *journal.Entry) error
}

// SignedIn is a signed-in browser and its token.
type SignedIn struct {
	SignIn
	Token Token
}

// credential returns the token as it is cached for a cookie.
func (s *SignedIn) credential() *Token {
	token := s.Token
	token.signIn = &s.SignIn
	return &token
}

// SignIn creates a cookie for a browser that presented a token's secret. Errors: as
// [Keyring.Authenticate].
func (k *Keyring) SignIn(ctx context.Context, secret string) (cookie string, identity *Identity, err error) {
	known, token, err := k.find(ctx, secret)
	if err != nil {
		return "", nil, err
	}
	return k.addSignIn(ctx, token, known.hash)
}

// addSignIn creates a cookie for a token, and for its secret with that hash unless it is "". The
// cache may accept a secret that another replica has just rotated, so the store checks it.
func (k *Keyring) addSignIn(ctx context.Context, token *Token, secretHash string) (cookie string, identity *Identity, err error) {
	nowMs := k.nowMs()
	cookie = NewSecret()
	in := SignIn{CookieHash: HashOf(cookie), TokenID: token.TokenID, CreatedAtMs: nowMs, ExpiresAtMs: nowMs + SignInLifetimeMs}
	if secretHash != "" && secretHash == token.PreviousHash {
		in.ExpiresAtMs = min(in.ExpiresAtMs, token.PreviousUntilMs)
	}
	identity = (&SignedIn{in, *token}).credential().Identity()
	by := token.Identity()
	if token.vouched() {
		by.Via = ViaIssuer // only an issuer signs a browser in without a secret
	}
	entry := EntryBy(by, nowMs, api.AuditEvent{Type: api.AuditSignedIn})
	err = k.tokens.AddSignIn(ctx, &in, secretHash, entry)
	switch {
	case refusal.CodeOf(err) == api.CodeInvalidToken:
		return "", nil, k.refuse(ctx, "rotated or revoked", token.Hint)
	case err != nil:
		return "", nil, err
	}
	return cookie, identity, nil
}

// EnterSignIn is Enter for a cookie. When renewed is set, send the cookie again so that the browser
// keeps it for the extended lifetime.
func (k *Keyring) EnterSignIn(ctx context.Context, cookie string) (identity *Identity, renewed bool, during context.Context, leave func(), err error) {
	known, token, err := k.findSignIn(ctx, cookie)
	if err != nil {
		return nil, false, nil, nil, err
	}
	untilMs := k.nowMs() + SignInLifetimeMs
	if token.vouched() {
		untilMs = min(untilMs, token.signIn.CreatedAtMs+MaxIssuedSignInMs)
	}
	// A sign-in with a rotated secret never expires after the secret. One with the new secret does,
	// unless the grace had more than a whole lifetime left.
	if token.signIn.ExpiresAtMs <= token.PreviousUntilMs {
		untilMs = min(untilMs, token.PreviousUntilMs)
	}
	if token.signIn.ExpiresAtMs < untilMs-renewAfterMs {
		in := *token.signIn
		in.ExpiresAtMs = untilMs
		if err := k.tokens.RenewSignIn(ctx, in.CookieHash, in.ExpiresAtMs); err != nil {
			return nil, false, nil, nil, err
		}
		renewed = true
		token = (&SignedIn{in, *token}).credential()
		k.mu.Lock()
		known.token = token
		k.mu.Unlock()
	}
	during, leave = k.enter(ctx, known)
	return identityOf(known, token), renewed, during, leave, nil
}

// SignOut ends a sign-in and its open calls. An unknown sign-in is not an error.
func (k *Keyring) SignOut(ctx context.Context, cookie string) error {
	hash := HashOf(cookie)
	if err := k.tokens.EndSignIn(ctx, hash, EntryBy(From(ctx), k.nowMs(), api.AuditEvent{Type: api.AuditSignedOut})); err != nil {
		return err
	}
	k.forget(signInKey + hash)
	return nil
}

// findSignIn is find for a cookie.
func (k *Keyring) findSignIn(ctx context.Context, cookie string) (*remembered, *Token, error) {
	if !WellFormed(cookie) {
		return nil, nil, k.refuseSignIn(ctx, "malformed")
	}
	return k.findCookie(ctx, HashOf(cookie))
}

// findCookie is findSignIn by the cookie's hash.
func (k *Keyring) findCookie(ctx context.Context, hash string) (*remembered, *Token, error) {
	nowMs := k.nowMs()
	known, token := k.recall(signInKey+hash, nowMs)
	if known == nil {
		read, readAtMs, err := shared(ctx, k, signInKey+hash, func(ctx context.Context) ([]SignedIn, error) {
			return k.tokens.SignInsByHash(ctx, []string{hash})
		})
		if err != nil {
			return nil, nil, err
		}
		if len(read) == 0 {
			k.forget(signInKey + hash)
			return nil, nil, k.refuseSignIn(ctx, "unknown")
		}
		known, token = k.remember(signInKey+hash, read[0].credential(), readAtMs)
	}
	if known.valid.Err() != nil || !token.AcceptsAt(signInKey+hash, nowMs) {
		k.forget(signInKey + hash)
		return nil, nil, k.refuseSignIn(ctx, "ended")
	}
	return known, token, nil
}

func (k *Keyring) refuseSignIn(ctx context.Context, reason string) error {
	k.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "sign-in refused", slog.String("reason", reason))
	return SignedOut()
}

// SignedOut is the error for a cookie that does not work, whatever the reason.
func SignedOut() error {
	return refusal.New(api.CodeInvalidToken, "the browser is signed out: the sign-in has ended, or its token was revoked or has expired")
}
