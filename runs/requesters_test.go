package runs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRequesters: each person has one name, whatever characters a gateway sends, and the list is
// bounded.
func TestRequesters(t *testing.T) {
	t.Parallel()
	list := requesters("").with("agent:a", "", "ann", "agent:a", "user:ann", "service:x")
	require.Equal(t, requesters("agent:a\nuser:ann\nservice:x"), list)
	for _, name := range []string{"agent:a", "ann", "user:ann", "service:x"} {
		require.True(t, list.has(name), name)
	}
	for _, name := range []string{"", "a", "agent:", "agent:aa", "user:an", "agent:a\nuser:ann", "*", "user"} {
		require.False(t, list.has(name), name)
	}
	require.False(t, requesters("").with("*").has("ann"), "a gateway's name for somebody excludes nobody else")
	require.False(t, requesters("").with("x\nagent:b").has("agent:b"))
	// One person may have the tokens of several spellings, or come through a gateway that forwards what they typed.
	for _, name := range []string{"Ann", "user:ANN", "User:ann", "\uff21nn", "a\u200bnn", "AGENT:A", "Service:x"} {
		require.True(t, list.has(name), "%q", name)
	}
	for _, name := range []string{"ANN", "user:Ann", "User:Ann", "\uff21nn"} {
		require.True(t, requesters("").with(name).has("user:ann"), "%q", name)
	}
	require.True(t, requesters("").with("\u00e1nn").has("A\u0301nn"))
	require.False(t, list.has("a\u0301nn"))
	for n := range 2 * maxRequesters {
		list = list.with(fmt.Sprintf("agent:n%d", n))
	}
	require.True(t, list.has("user:anybody"), "too many to know")
	require.Less(t, len(list), 60*maxRequesters)
	require.Equal(t, list, list.with("agent:more"))
}
