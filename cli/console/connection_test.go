package console_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// A wrong address is named in the error, with what to change.
func TestAWrongAddressIsNamed(t *testing.T) {
	t.Parallel()
	answering := func(status int, body string) *httptest.Server {
		server := httptest.NewServer(answers(status, body))
		t.Cleanup(server.Close)
		return server
	}
	plain, secured := answering(http.StatusNotFound, ""), httptest.NewTLSServer(answers(http.StatusOK, ""))
	t.Cleanup(secured.Close)
	const noRoute = `{"status":404,"code":"route_not_found","detail":"there is no route /v1/v1/approvals"}`
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	socket := &http.Server{Handler: answers(http.StatusNotFound, "")} //nolint:gosec // only this test calls it
	t.Cleanup(func() { _ = socket.Close() })
	go func() { _ = socket.Serve(listener) }()
	for server, says := range map[string]string{
		plain.URL: "answers, but not as a holdpoint service: HTTP 404: Not Found; check the address in --server",
		answering(http.StatusNotFound, noRoute).URL + "/v1/": "there is no route /v1/v1/approvals: give the address without the path /v1/",
		answering(http.StatusBadGateway, "").URL:             "HTTP 502: Bad Gateway; a proxy whose service is down",
		answering(http.StatusRequestEntityTooLarge, "").URL:  "or ask the log of the proxy",
		answering(http.StatusMovedPermanently, "").URL:       "give the address with https://",
		strings.Replace(plain.URL, "http:", "https:", 1):     "give the address with http://",
		strings.Replace(secured.URL, "https:", "http:", 1):   "give the address with https://",
		"unix:" + path: "unix:" + path + " answers, but not as a holdpoint service",
	} {
		require.ErrorContains(t, listed(t, server), says)
	}
	// A proxy took the path away, so it is not at fault.
	require.NotContains(t, listed(t, answering(http.StatusNotFound, noRoute).URL+"/holdpoint").Error(), "without the path")
}

func answers(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// listed returns the error of a call to a server.
func listed(t *testing.T, server string) error {
	t.Helper()
	connection := console.Connection{Server: server, Retry: client.RetryPolicy{MaxAttempts: 1}}
	return connection.Call(func(c *client.Client) error {
		_, err := c.ListApprovals(t.Context(), client.PendingListParams{})
		return err
	})
}
