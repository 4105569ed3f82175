package runs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneHostOfCallbacksHasOneNameHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://hooks.example/a", "HTTPS://Hooks.Example:443/b?c", "https://hooks.example./"} {
		require.Equal(t, "hooks.example:443", hostOf(url), url)
	}
	require.Equal(t, "127.0.0.1:80", hostOf("http://[::ffff:127.0.0.1]/"))
	require.NotEqual(t, originOf("https://a.example", "agent:a"), originOf("https://a.example", "agent:b"))
	require.Equal(t, originOf("https://a.example", "agent:a")[:8], originOf("https://b.example", "agent:a")[:8])
}
