package auth

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
)

// maxDeciders is the maximum number of tokens that Deciders reads.
const maxDeciders = 1_000

// Deciders returns an identity for each active token that may decide, oldest tokens first. more is
// set when not all tokens were read. Errors: errors of [Tokens].
func (k *Keyring) Deciders(ctx context.Context) (deciders []*Identity, more bool, err error) {
	if k == nil {
		return nil, false, nil
	}
	tokens, err := k.List(ctx, TokenQuery{State: api.TokenActive, Limit: maxDeciders + 1})
	if err != nil {
		return nil, false, err
	}
	more = len(tokens) > maxDeciders
	for i := range tokens[:min(len(tokens), maxDeciders)] {
		if identity := tokens[i].Identity(); identity.May(Decide) {
			deciders = append(deciders, identity)
		}
	}
	return deciders, more, nil
}

// MayDecide returns the identities of Deciders.
func (k *Keyring) MayDecide(ctx context.Context) ([]*Identity, error) {
	deciders, _, err := k.Deciders(ctx)
	return deciders, err
}

// MayStillDecide reports whether one of these principals has a credential that may decide. It reports
// true if the service requires no credentials, or if not all of them were read. Errors: errors of
// [Tokens].
func (k *Keyring) MayStillDecide(ctx context.Context, principals ...string) (bool, error) {
	if k == nil {
		return true, nil
	}
	if open, err := k.Open(ctx); open || err != nil {
		return open, err
	}
	deciders, more, err := k.Deciders(ctx)
	return more || slices.ContainsFunc(deciders, func(decider *Identity) bool {
		return slices.Contains(principals, decider.Principal) || decider.OnBehalfOf != "" && slices.Contains(principals, decider.OnBehalfOf)
	}), err
}

// Strangers reports whether an issuer admits people who have no token yet.
func (k *Keyring) Strangers() bool { return k.issuer }
