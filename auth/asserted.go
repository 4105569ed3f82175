package auth

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Values of Assertion.By. It is the created_by of the assertion's token and not a principal.
const (
	ByIssuer      = "oidc"
	ByCertificate = "certificate"
)

const (
	// MaxIssuedSignInMs is the longest time a browser stays signed in through an issuer with
	// groups. Calls do not extend it: the issuer has to confirm the groups again.
	MaxIssuedSignInMs = 24 * 60 * minuteMs
	// assertedKey is the prefix of assertions in the keyring's cache, which also holds hashes of
	// secrets.
	assertedKey = "asserted "
	// maxRevocations is the maximum number of times one identity can be revoked.
	maxRevocations = 1_000
)

// Assertion is an identity that an issuer or a client certificate proved. Each identity has a token
// without a secret, so an admin can list and revoke it. An assertion from before the revocation is
// refused.
type Assertion struct {
	// By is [ByIssuer] or [ByCertificate].
	By string
	// Subject identifies the user or client to By.
	Subject   string
	Name      string
	Principal string
	Role      api.Role
	Groups    []string
	// IssuedAtMs is when the assertion was made. It is valid until ExpiresAtMs.
	IssuedAtMs  int64
	ExpiresAtMs int64
}

// key is equal for assertions of the same identity with the same rights.
func (a *Assertion) key() string {
	groups := slices.Sorted(slices.Values(a.Groups))
	text, err := json.Marshal([]any{a.By, a.Subject, a.Principal, string(a.Role), groups})
	if err != nil {
		return "" // JSON encoding fails only for invalid UTF-8, which is refused earlier
	}
	return HashOf(string(text))
}

// cacheKey is the assertion's key in the keyring's cache. It has the time of issue, because a
// revocation refuses earlier assertions only.
func (a *Assertion) cacheKey() string {
	until, issued := strconv.FormatInt(a.ExpiresAtMs, 10), strconv.FormatInt(a.IssuedAtMs, 10)
	return strings.Join([]string{assertedKey + a.By, until, issued, a.key()}, " ")
}

// assertedBy is the assertion behind a cached token.
type assertedBy struct {
	// key is the token's key in the cache.
	key     string
	by      string
	untilMs int64
}

// via returns the Via of the identity.
func (a *assertedBy) via() string {
	if a.by == ByIssuer {
		return ViaIssuer
	}
	return ViaCertificate
}

// token returns the assertion's token and creates it on first use. Errors: invalid_token for an
// assertion from before the last revocation; errors of [Tokens].
func (k *Keyring) token(ctx context.Context, a *Assertion) (*Token, error) {
	key := a.key()
	for range maxRevocations {
		token := &Token{
			TokenID: k.newID(PrefixToken), Name: a.Name, Role: a.Role, Principal: a.Principal, Groups: a.Groups,
			// The secret is discarded, so the token cannot be used directly.
			SecretHash: HashOf(NewSecret()), CreatedAtMs: k.nowMs(), CreatedBy: a.By, Key: key, Fingerprint: key,
		}
		kept, err := k.tokens.AddToken(ctx, token, token.created(nil))
		switch {
		case err != nil:
			return nil, err
		case kept.RevokedAtMs == 0:
			k.shut()
			return kept, nil
		case a.IssuedAtMs <= kept.RevokedAtMs:
			return nil, k.refuseAssertion(ctx, a.By, "revoked")
		}
		key = HashOf(key + kept.TokenID)
	}
	return nil, k.refuseAssertion(ctx, a.By, "revoked too often")
}

// EnterAssertion is Enter for a verified assertion.
func (k *Keyring) EnterAssertion(ctx context.Context, a *Assertion) (identity *Identity, during context.Context, leave func(), err error) {
	nowMs := k.nowMs()
	if nowMs >= a.ExpiresAtMs {
		return nil, nil, nil, k.refuseAssertion(ctx, a.By, "expired")
	}
	by := &assertedBy{by: a.By, untilMs: a.ExpiresAtMs, key: a.cacheKey()}
	known, token := k.recall(by.key, nowMs)
	if known == nil {
		read, readAtMs, err := shared(ctx, k, by.key, func(ctx context.Context) (*Token, error) { return k.tokenAgain(ctx, a, by) })
		if err != nil {
			return nil, nil, nil, err
		}
		known, token = k.remember(by.key, read, readAtMs)
	}
	if known.valid.Err() != nil || !token.AcceptsAt(by.key, nowMs) {
		k.forget(by.key)
		return nil, nil, nil, k.refuseAssertion(ctx, a.By, "revoked")
	}
	during, leave = k.enter(ctx, known)
	return identityOf(known, token), during, leave, nil
}

// tokenAgain reads the token of a known assertion, so that later calls write nothing.
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

// of returns the assertion's token among those read, ready for the cache.
func (a *assertedBy) of(read []Token) *Token {
	if len(read) == 0 {
		return nil
	}
	token := read[0]
	token.asserted = a
	return &token
}

// findAsserted finds an assertion's token by its cache key, on any replica.
func (k *Keyring) findAsserted(ctx context.Context, key, tokenID string) (*remembered, *Token, error) {
	by := &assertedBy{key: key}
	who, rest, _ := strings.Cut(strings.TrimPrefix(key, assertedKey), " ")
	until, _, _ := strings.Cut(rest, " ")
	by.by = who
	by.untilMs, _ = strconv.ParseInt(until, 10, 64) // 0 means expired
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

// SignInByIssuer creates a cookie for a browser whose user an issuer authenticated. Errors:
// invalid_token; errors of [Tokens].
func (k *Keyring) SignInByIssuer(ctx context.Context, a *Assertion) (cookie string, identity *Identity, err error) {
	token, err := k.token(ctx, a)
	if err != nil {
		return "", nil, err
	}
	return k.addSignIn(ctx, token, "")
}

func (k *Keyring) refuseAssertion(ctx context.Context, by, reason string) error {
	k.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "identity refused", slog.String("by", by), slog.String("reason", reason))
	return Invalid()
}

// vouched reports whether a token belongs to an [Assertion] and so has no usable secret.
func (t *Token) vouched() bool { return t.CreatedBy == ByIssuer || t.CreatedBy == ByCertificate }

// errVouched refuses a secret for such a token.
func errVouched(by string) error {
	return refusal.New(api.CodeTokenStateConflict, "this identity comes from %s and has no secret: it can only be revoked", by)
}
