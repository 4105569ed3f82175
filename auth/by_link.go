package auth

import (
	"context"
	"slices"
)

// maxOwnTokens is the maximum number of tokens of one person that are read at once.
const maxOwnTokens = 1_000

// ByLink returns the identity with which a person decides by the link in a message: one of their
// active tokens that may decide and that fits, or nil without one. It may not act for others, and
// writes no rule for all sessions.
//
// An identity of an issuer counts for as long after its last use as a sign-in lasts, and only the one
// used last: an earlier one has the groups of that time. Errors: errors of [Tokens].
func (k *Keyring) ByLink(ctx context.Context, principal string, fits func(*Identity) bool) (*Identity, error) {
	open := k == nil
	if !open {
		var err error
		if open, err = k.Open(ctx); err != nil {
			return nil, err
		}
	}
	if open {
		if local := Local(); principal == local.Principal {
			return local, nil
		}
		return nil, nil
	}
	tokens, err := k.decidingTokens(ctx, principal)
	for i := range tokens {
		token := &tokens[i]
		if token.vouched() && usedAtMs(token)+MaxIssuedSignInMs <= k.nowMs() {
			continue
		}
		identity := token.Identity()
		identity.Via, identity.MayActFor, identity.MayAlways = ViaLink, false, false
		if fits(identity) {
			return identity, nil
		}
	}
	return nil, err
}

// DecidersOf returns the identities of one person that [Keyring.Deciders] counts: the person gets messages about all that
// they reach. Errors: errors of [Tokens].
func (k *Keyring) DecidersOf(ctx context.Context, principal string) (deciders []*Identity, err error) {
	tokens, err := k.decidingTokens(ctx, principal)
	for i := range tokens {
		deciders = append(deciders, tokens[i].Identity())
	}
	return deciders, err
}

// decidingTokens returns a person's active tokens that may decide. Of the identities of an issuer or of certificates it
// returns only the one used last.
func (k *Keyring) decidingTokens(ctx context.Context, principal string) ([]Token, error) {
	tokens, err := k.tokens.TokensOf(ctx, principal, k.nowMs(), maxOwnTokens)
	if err != nil {
		return nil, err
	}
	k.addUses(tokens)
	newest := int64(-1)
	for i := range tokens {
		if tokens[i].vouched() {
			newest = max(newest, usedAtMs(&tokens[i]))
		}
	}
	return slices.DeleteFunc(tokens, func(t Token) bool {
		return !RoleMay(t.Role, Decide) || t.vouched() && usedAtMs(&t) != newest
	}), nil
}

// usedAtMs returns when a token was last used, or when it was created.
func usedAtMs(t *Token) int64 { return max(t.LastUsedAtMs, t.CreatedAtMs) }
