package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// net/http repeats a call with an idempotency key by itself. If that finds no connection, the first may have taken effect.
func TestACallThatWasSentOnceIsNotUnsent(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"run_id":"r"}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = server.Listener.Close() // the process ends
			_ = conn.Close()
		}
	}))
	server.Start()
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	_, _ = c.GetRun(t.Context(), "r") // opens the connection
	_, err = c.ResolveRunApprovals(t.Context(), "r", client.ResolveApprovalsParams{})
	require.ErrorIs(t, err, client.ErrUnavailable)
	require.NotContains(t, err.Error(), "no connection")
	_, err = c.ResolveRunApprovals(t.Context(), "r", client.ResolveApprovalsParams{})
	require.ErrorContains(t, err, "no connection")
}
