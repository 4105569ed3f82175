package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Who vouches for an [Assertion]. It is the created_by of its token, and no principal.
const (
	ByIssuer      = "oidc"
	ByCertificate = "certificate"
)

const (
	// MaxIssuedSignInMs is how long a browser stays signed in whose groups an issuer has told, however
	// much it calls: then the issuer is asked again.
	MaxIssuedSignInMs = 24 * 60 * minuteMs
	// assertedKey is put before what remembers an assertion, where secrets of tokens are remembered too.
	assertedKey = "asserted "
	// maxRevocations bounds how often one identity may have been revoked.
	maxRevocations = 1_000
)

// Assertion says who somebody is by the word of an issuer or of a certificate, which was checked.
// Each identity has a token without a secret, that an admin can list and revoke; what was asserted
// before the revocation does not work again.
type Assertion struct {
	// By is [ByIssuer] or [ByCertificate].
	By string
	// Subject tells whom By means.
	Subject   string
	Name      string
	Principal string
	Role      api.Role
	Groups    []string
	// IssuedAtMs is when it was made, and it works until ExpiresAtMs.
	IssuedAtMs  int64
	ExpiresAtMs int64
}

// key is the same for the same identity with the same rights.
func (a *Assertion) key() string {
	groups := slices.Sorted(slices.Values(a.Groups))
	text, err := json.Marshal([]any{a.By, a.Subject, a.Principal, string(a.Role), groups})
	if err != nil {
		return "" // only texts that are not UTF-8 have no JSON, and those are refused before
	}
	return hashText(string(text))
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// assertedBy is what a remembered token of an assertion works by.
type assertedBy struct {
	// key is that by which it is remembered.
	key     string
	by      string
	untilMs int64
}

// via returns how such an identity was shown.
func (a *assertedBy) via() string {
	if a.by == ByIssuer {
		return ViaIssuer
	}
	return ViaCertificate
}

// token returns the token of an assertion, and makes it for the first one. Errors: invalid_token for
// one that was made before the last revocation; those of [Tokens].
func (k *Keyring) token(ctx context.Context, a *Assertion) (*Token, error) {
	key := a.key()
	for range maxRevocations {
		token := &Token{
			TokenID: k.newID(PrefixToken), Name: a.Name, Role: a.Role, Principal: a.Principal, Groups: a.Groups,
			// Nobody knows its secret.
			SecretHash: HashOf(NewSecret()), CreatedAtMs: k.nowMs(), CreatedBy: a.By, Key: key, Fingerprint: key,
		}
		kept, err := k.tokens.AddToken(ctx, token, token.created(nil))
		switch {
		case err != nil:
			return nil, err
		case kept.RevokedAtMs == 0:
			k.closed.Store(true)
			return kept, nil
		case a.IssuedAtMs <= kept.RevokedAtMs:
			return nil, k.refuseAssertion(ctx, a.By, "revoked")
		}
		key = hashText(key + kept.TokenID)
	}
	return nil, k.refuseAssertion(ctx, a.By, "revoked too often")
}

// EnterAssertion is Enter for an assertion that was checked.
func (k *Keyring) EnterAssertion(ctx context.Context, a *Assertion) (identity *Identity, during context.Context, leave func(), err error) {
	nowMs := k.nowMs()
	if nowMs >= a.ExpiresAtMs {
		return nil, nil, nil, k.refuseAssertion(ctx, a.By, "expired")
	}
	by := &assertedBy{by: a.By, untilMs: a.ExpiresAtMs, key: assertedKey + a.By + " " + strconv.FormatInt(a.ExpiresAtMs, 10) + " " + a.key()}
	known, token := k.recall(by.key, nowMs)
	if known == nil {
		read, err := shared(ctx, &k.reads, by.key+strconv.FormatInt(a.IssuedAtMs, 10), func(ctx context.Context) (*Token, error) { return k.tokenAgain(ctx, a, by) })
		if err != nil {
			return nil, nil, nil, err
		}
		known, token = k.remember(by.key, read, nowMs)
	}
	if known.valid.Err() != nil || !token.AcceptsAt(by.key, nowMs) {
		k.forget(by.key)
		return nil, nil, nil, k.refuseAssertion(ctx, a.By, "revoked")
	}
	during, leave = k.enter(ctx, known)
	return identityOf(known, token), during, leave, nil
}

// tokenAgain reads the token of an assertion that was seen before, so that each call writes nothing.
func (k *Keyring) tokenAgain(ctx context.Context, a *Assertion, by *assertedBy) (*Token, error) {
	k.mu.Lock()
	seen := k.remembered[by.key]
	k.mu.Unlock()
	if seen != nil {
		read, err := k.tokens.TokensByID(ctx, []string{seen.tokenID})
		if err != nil || len(read) > 0 && read[0].RevokedAtMs == 0 {
			return by.of(read), err
		}
		k.forgetThis(seen)
	}
	made, err := k.token(ctx, a)
	if err != nil {
		return nil, err
	}
	return by.of([]Token{*made}), nil
}

// of returns a token as it is remembered for the assertion.
func (a *assertedBy) of(read []Token) *Token {
	if len(read) == 0 {
		return nil
	}
	token := read[0]
	token.asserted = a
	return &token
}

// findAsserted finds the token of an assertion by what it is remembered by, at whatever replica.
func (k *Keyring) findAsserted(ctx context.Context, key, tokenID string) (*remembered, *Token, error) {
	by := &assertedBy{key: key}
	who, rest, _ := strings.Cut(strings.TrimPrefix(key, assertedKey), " ")
	until, _, _ := strings.Cut(rest, " ")
	by.by = who
	by.untilMs, _ = strconv.ParseInt(until, 10, 64) // 0 has expired
	nowMs := k.nowMs()
	read, err := k.tokens.TokensByID(ctx, []string{tokenID})
	if err != nil {
		return nil, nil, err
	}
	if len(read) == 0 || !by.of(read).AcceptsAt(key, nowMs) {
		return nil, nil, k.refuseAssertion(ctx, by.by, "revoked or expired")
	}
	known, token := k.remember(key, by.of(read), nowMs)
	return known, token, nil
}

// SignInByIssuer makes a cookie for a browser that an issuer has told who it is. Errors:
// invalid_token; those of [Tokens].
func (k *Keyring) SignInByIssuer(ctx context.Context, a *Assertion) (cookie string, identity *Identity, err error) {
	token, err := k.token(ctx, a)
	if err != nil {
		return "", nil, err
	}
	return k.addSignIn(ctx, token)
}

func (k *Keyring) refuseAssertion(ctx context.Context, by, reason string) error {
	k.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "identity refused", slog.String("by", by), slog.String("reason", reason))
	return Invalid()
}

// vouched reports whether a token belongs to an [Assertion]: it has no secret that anybody knows.
func (t *Token) vouched() bool { return t.CreatedBy == ByIssuer || t.CreatedBy == ByCertificate }

// errVouched refuses a secret for such a token.
func errVouched(by string) error {
	return refusal.New(api.CodeTokenStateConflict, "this identity comes from %s and has no secret: it can be revoked alone", by)
}
