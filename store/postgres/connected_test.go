package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestConnectedServicesAreCounted(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	connected := func() int {
		count, err := Connected(t.Context(), url)
		require.NoError(t, err)
		return count
	}
	require.Zero(t, connected(), "the asking process is not a service")
	s := open(t, url, Options{})
	require.Positive(t, connected())
	require.NoError(t, s.Close())
	// The server notices the end of a connection slightly after the client.
	require.Eventually(t, func() bool { return connected() == 0 }, time.Minute, 10*time.Millisecond)
}
