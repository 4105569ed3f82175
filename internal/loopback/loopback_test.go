package loopback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/loopback"
)

func TestIs(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost", "LocalHost", "127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"} {
		require.True(t, loopback.Is(host), host)
	}
	for _, host := range []string{"", "localhost.example", "mail.example", "0.0.0.0", "::", "10.0.0.1", "127.0.0.1:25", "[::1]", "127.evil.example"} {
		require.False(t, loopback.Is(host), host)
	}
}
