package auth

import (
	"context"
	"slices"
)

// maxDeciders is the maximum number of tokens that Deciders reads. Tokens that may not decide, such as
// the tokens of agents, do not count.
const maxDeciders = 5_000

// Deciders returns an identity for each active token that may decide. Of the identities that an issuer or a
// certificate gave a person, only the one used last counts; see [Keyring.ByLink]. more is set when not all of them
// were read. Errors: errors of [Tokens].
func (k *Keyring) Deciders(ctx context.Context) (deciders []*Identity, more bool, err error) {
	if k == nil {
		return nil, false, nil
	}
	tokens, err := k.tokens.Deciders(ctx, k.nowMs(), maxDeciders+1)
	if err != nil {
		return nil, false, err
	}
	more = len(tokens) > maxDeciders
	for i := range tokens[:min(len(tokens), maxDeciders)] {
		deciders = append(deciders, tokens[i].Identity())
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
