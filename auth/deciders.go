package auth

import (
	"context"

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

// Strangers reports whether an issuer admits people who have no token yet.
func (k *Keyring) Strangers() bool { return k.issuer }
