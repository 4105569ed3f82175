package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHorizons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90d": 90 * day, "0": 0, "0d": 0, "36h": 36 * time.Hour, "1h30m": 90 * time.Minute, "36500d": 36500 * day} {
		var h Horizon
		require.NoError(t, h.UnmarshalText([]byte(text)), text)
		require.Equal(t, Horizon(want), h, text)
	}
	for _, text := range []string{"", "d", "-1d", "-1h", "1.5d", "90", "36501d", "99999999999999999999d", "876001h", "1d2h", "x"} {
		var h Horizon
		require.Error(t, h.UnmarshalText([]byte(text)), text)
		require.Zero(t, h, text)
	}
}
