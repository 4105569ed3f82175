package cli

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// What serve would refuse at its next start is refused by a reload.
func TestAReloadRefusesWhatAStartRefuses(t *testing.T) {
	t.Parallel()
	nothing := func(string) (string, bool) { return "", false }
	for _, flags := range [][]string{
		{"--max-attempts", "0"}, {"--webhook-allow", "everything"}, {"--listen", "nowhere"}, {"--tls-cert", "cert.pem"}, {"--nonsense"},
	} {
		_, err := serveAgain(append([]string{"serve"}, flags...), nothing)
		require.ErrorContains(t, err, flags[0])
	}
	read, err := serveAgain([]string{"serve", "--log-level", "debug"}, nothing)
	require.NoError(t, err)
	require.Equal(t, slog.LevelDebug, read.LogLevel)
}
