package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// A wrong address is named in the error, with what to change.
func TestAWrongAddressIsNamed(t *testing.T) {
	t.Parallel()
	answers := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	plain, secured := httptest.NewServer(answers(http.StatusNotFound)), httptest.NewTLSServer(answers(http.StatusOK))
	proxy := httptest.NewServer(answers(http.StatusBadGateway))
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"status":404,"code":"route_not_found","detail":"there is no route /v1/v1/approvals"}`))
	}))
	for _, one := range []*httptest.Server{plain, secured, proxy, service} {
		t.Cleanup(one.Close)
	}
	for server, says := range map[string]string{
		plain.URL:            "answers, but not as a holdpoint service: HTTP 404: Not Found; check the address in --server",
		service.URL + "/v1/": "there is no route /v1/v1/approvals: give the address without the path /v1/",
		proxy.URL:            "HTTP 502: Bad Gateway; a proxy whose service is down",
		strings.Replace(plain.URL, "http:", "https:", 1):   "give the address with http://",
		strings.Replace(secured.URL, "https:", "http:", 1): "give the address with https://",
	} {
		connection := console.Connection{Server: server, Retry: client.RetryPolicy{MaxAttempts: 1}}
		err := connection.Call(func(c *client.Client) error {
			_, err := c.ListApprovals(t.Context(), client.PendingListParams{})
			return err
		})
		require.ErrorContains(t, err, says)
	}
}
