package reads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

func TestAScopeCovers(t *testing.T) {
	t.Parallel()
	prefixes := func(all ...string) reads.Scope { return reads.Scope{SessionPrefixes: all} }
	agents := func(all ...string) reads.Scope { return reads.Scope{AgentIDs: all} }
	both := reads.Scope{SessionPrefixes: []string{"a:"}, AgentIDs: []string{"x"}}
	for name, c := range map[string]struct {
		scope, other reads.Scope
		covers       bool
	}{
		"everything, itself":               {reads.Scope{}, reads.Scope{}, true},
		"everything, a part":               {reads.Scope{}, both, true},
		"a prefix, everything":             {prefixes("a:"), reads.Scope{}, false},
		"a prefix, itself":                 {prefixes("a:"), prefixes("a:"), true},
		"a prefix, a longer one":           {prefixes("a:"), prefixes("a:b:"), true},
		"a prefix, a shorter one":          {prefixes("a:b:"), prefixes("a:"), false},
		"prefixes, some of them":           {prefixes("a:", "b:"), prefixes("b:"), true},
		"a prefix, itself and another one": {prefixes("a:"), prefixes("a:", "b:"), false},
		"agents, one of them":              {agents("x", "y"), agents("y"), true},
		"agents, one more":                 {agents("x"), agents("x", "y"), false},
		"an agent, a longer id":            {agents("x"), agents("xy"), false},
		"a prefix, agents":                 {prefixes("a:"), agents("x"), false},
		"a prefix, and an agent":           {prefixes("a:"), both, true},
		"both, a prefix":                   {both, prefixes("a:"), false},
		"an owner, everything":             {reads.Scope{OwnedBy: "agent:x"}, reads.Scope{}, false},
		"an owner, another one":            {reads.Scope{OwnedBy: "agent:x"}, reads.Scope{OwnedBy: "agent:y"}, false},
		"an owner, itself":                 {reads.Scope{OwnedBy: "agent:x"}, reads.Scope{OwnedBy: "agent:x"}, true},
	} {
		require.Equal(t, c.covers, c.scope.Covers(&c.other), name)
	}
}
