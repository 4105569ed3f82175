package auth

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
)

// maxDeciders bounds the tokens that are read for a list of those who may decide.
const maxDeciders = 1_000

// Deciders returns an identity for each active token that may decide, of the oldest tokens. more says that
// there are tokens that were not read. Errors: those of [Tokens].
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

// Strangers reports whether an issuer lets in people who have no token yet.
func (k *Keyring) Strangers() bool { return k.issuer }
