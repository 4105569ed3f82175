package auth

import (
	"context"
	"log/slog"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	// SignInLifetimeMs is how long a browser that calls nothing stays signed in.
	SignInLifetimeMs = 12 * 60 * minuteMs
	// MaxSignIns bounds the browsers that are signed in with one token. The one that has called
	// nothing for the longest time is signed out for a new one.
	MaxSignIns = 100
	// renewAfterMs is how much of the lifetime must have passed before a call makes it whole.
	renewAfterMs = 10 * minuteMs
	// signInKey is put before the hash of a cookie where secrets of tokens are remembered too: a
	// cookie is no token, and a token no cookie.
	signInKey = "sign-in "
)

// SignIn is a browser that is signed in. Nobody can make its cookie from it.
type SignIn struct {
	// CookieHash is that of the cookie's value.
	CookieHash  string
	TokenID     string
	CreatedAtMs int64
	ExpiresAtMs int64
}

// SignIns keeps the browsers that are signed in. Every engine implements it, with the errors of
// [Tokens].
type SignIns interface {
	// AddSignIn writes one that is new, and deletes those that have expired by its creation and
	// the oldest beyond [MaxSignIns] of its token.
	AddSignIn(ctx context.Context, in *SignIn, entry *journal.Entry) error
	// SignInsByHash returns those that are there, each with its token.
	SignInsByHash(ctx context.Context, cookieHashes []string) ([]SignedIn, error)
	// RenewSignIn writes when one expires, never an earlier time.
	RenewSignIn(ctx context.Context, cookieHash string, expiresAtMs int64) error
	// EndSignIn deletes one, if it is there.
	EndSignIn(ctx context.Context, cookieHash string, entry *journal.Entry) error
}

// SignedIn is a browser that is signed in, and the token that it is signed in with.
type SignedIn struct {
	SignIn
	Token Token
}

// credential returns the token as it is remembered for a cookie.
func (s *SignedIn) credential() *Token {
	token := s.Token
	token.signIn = &s.SignIn
	return &token
}

// SignIn makes a cookie for a browser that has shown the secret of a token. Errors: as
// [Keyring.Authenticate].
func (k *Keyring) SignIn(ctx context.Context, secret string) (cookie string, identity *Identity, err error) {
	_, token, err := k.find(ctx, secret)
	if err != nil {
		return "", nil, err
	}
	return k.addSignIn(ctx, token)
}

// addSignIn makes a cookie for a token.
func (k *Keyring) addSignIn(ctx context.Context, token *Token) (cookie string, identity *Identity, err error) {
	nowMs := k.nowMs()
	cookie = NewSecret()
	in := SignIn{CookieHash: HashOf(cookie), TokenID: token.TokenID, CreatedAtMs: nowMs, ExpiresAtMs: nowMs + SignInLifetimeMs}
	identity = (&SignedIn{in, *token}).credential().Identity()
	entry := EntryBy(token.Identity(), nowMs, api.AuditEvent{Type: api.AuditSignedIn})
	if err := k.tokens.AddSignIn(ctx, &in, entry); err != nil {
		return "", nil, err
	}
	return cookie, identity, nil
}

// EnterSignIn is Enter for a cookie. With renewed the browser must be sent its cookie again, so
// that it keeps it as long as the service does.
func (k *Keyring) EnterSignIn(ctx context.Context, cookie string) (identity *Identity, renewed bool, during context.Context, leave func(), err error) {
	known, token, err := k.findSignIn(ctx, cookie)
	if err != nil {
		return nil, false, nil, nil, err
	}
	untilMs := k.nowMs() + SignInLifetimeMs
	if token.vouched() {
		untilMs = min(untilMs, token.signIn.CreatedAtMs+MaxIssuedSignInMs)
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

// SignOut ends a sign-in and the calls that go on with it. One that is not there is no error.
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

// findCookie is findSignIn by the hash of the cookie.
func (k *Keyring) findCookie(ctx context.Context, hash string) (*remembered, *Token, error) {
	nowMs := k.nowMs()
	known, token := k.recall(signInKey+hash, nowMs)
	if known == nil {
		read, err := shared(ctx, &k.reads, signInKey+hash, func(ctx context.Context) ([]SignedIn, error) {
			return k.tokens.SignInsByHash(ctx, []string{hash})
		})
		if err != nil {
			return nil, nil, err
		}
		if len(read) == 0 {
			k.forget(signInKey + hash)
			return nil, nil, k.refuseSignIn(ctx, "unknown")
		}
		known, token = k.remember(signInKey+hash, read[0].credential(), nowMs)
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

// SignedOut is the refusal of a cookie that does not work, whatever the reason.
func SignedOut() error {
	return refusal.New(api.CodeInvalidToken, "the browser is signed out: the sign-in has ended, or its token was revoked or has expired")
}
