package service

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// decidingTokens has the tokens that may decide.
type decidingTokens struct {
	auth.Tokens
	all []auth.Token
}

func (d decidingTokens) Deciders(context.Context, int64, int) ([]auth.Token, error) {
	return d.all, nil
}

// A message counts what a person reaches with any of their tokens, as the inbox shows it to them.
func TestAPersonReachesWhatEachOfTheirTokensReaches(t *testing.T) {
	t.Parallel()
	operator := func(principal string, prefixes, agents []string) auth.Token {
		return auth.Token{Principal: principal, Role: api.RoleOperator, SessionPrefixes: prefixes, AgentIDs: agents}
	}
	tokens := []auth.Token{
		operator("user:ada", []string{"a-"}, nil),
		operator("user:ben", nil, nil),
		operator("user:ada", nil, []string{"x"}),
		operator("user:ada", []string{"a-"}, nil),
		operator("user:cy", []string{"c-"}, nil),
	}
	reach := func(principal string, tokens []auth.Token) []reads.Scope {
		keyring := auth.NewKeyring(auth.Options{Tokens: decidingTokens{all: tokens}, Mode: auth.Required, NowMs: func() int64 { return 1 }})
		scopes, err := reachOf(t.Context(), keyring, principal)
		require.NoError(t, err)
		return scopes
	}
	require.Equal(t, []reads.Scope{{SessionPrefixes: []string{"a-"}}, {AgentIDs: []string{"x"}}}, reach("user:ada", tokens))
	require.Empty(t, reach("user:ben", tokens), "everything")
	require.Empty(t, reach("user:ada", append(tokens, operator("user:ada", nil, nil))))
}
