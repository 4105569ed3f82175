package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckAllowed(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkAllowed(
		[]string{"*", "inbox.example", "holdpoint-1", "::1", "192.0.2.1"},
		[]string{"*", "https://inbox.example", "http://localhost:5173", "https://inbox.example:8443", "chrome-extension://abc"}))
	for _, host := range []string{"", "https://inbox.example", "inbox.example:80", "inbox.example/", "*.example", "a b"} {
		require.Error(t, checkAllowed([]string{host}, nil), host)
	}
	for _, origin := range []string{"", "inbox.example", "https://", "https://inbox.example/", "https://inbox.example/path", "https://u@inbox.example", "https://inbox.example?x", "https://inbox.example:443", "http://inbox.example:80", "null"} {
		require.Error(t, checkAllowed(nil, []string{origin}), origin)
	}
}
