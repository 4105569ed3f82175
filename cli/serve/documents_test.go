package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// TestDocumentsAreOpen: everybody can read the documents and follow links to them, even if
// calls need a token. They are read-only, and nothing else can be reached through them.
func TestDocumentsAreOpen(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	inbox, err := assembly.Pages()
	require.NoError(t, err)
	keyring := auth.NewKeyring(auth.Options{Tokens: store, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1 }})
	server := httpapi.New(httpapi.Options{Store: store, Hub: watch.NewHub(), Keyring: keyring, Pages: inbox, Faces: (&Command{}).faces(nil)})
	defer server.Drain()
	for _, test := range []struct {
		method, target string
		headers        map[string]string
		status         int
		body           string
	}{
		{"GET", "/docs", nil, http.StatusOK, "</html>"},
		{"GET", "/docs/rules?x=%3Cscript%3E", nil, http.StatusOK, "</html>"},
		{"HEAD", "/docs/rules", nil, http.StatusOK, ""},
		{"HEAD", "/docs/nothing", map[string]string{"Accept": "text/html"}, http.StatusNotFound, ""},
		{"POST", "/docs", nil, http.StatusMethodNotAllowed, "method_not_allowed"},
		{"DELETE", "/docs/rules", nil, http.StatusMethodNotAllowed, "method_not_allowed"},
		{"GET", "/docs/nothing", nil, http.StatusNotFound, "route_not_found"},
		{"GET", "/docs/../v1/runs", nil, http.StatusNotFound, "route_not_found"},
		{"GET", "/docs/%2e%2e/%2e%2e/etc/passwd", nil, http.StatusNotFound, "route_not_found"},
		{"GET", "/docsx", nil, http.StatusNotFound, "route_not_found"},
		{"GET", "/v1/runs", nil, http.StatusUnauthorized, "unauthenticated"},
		// Other sites can link to pages, but only the site itself loads their parts and the
		// index.
		{"GET", "/docs/rules", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, http.StatusOK, "</html>"},
		{"GET", "/docs/search.json", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, http.StatusForbidden, "origin_not_allowed"},
		{"GET", "/docs", map[string]string{"Host": "evil.example"}, http.StatusForbidden, "host_not_allowed"},
	} {
		request := httptest.NewRequestWithContext(t.Context(), test.method, test.target, http.NoBody)
		request.Host = "localhost"
		for name, value := range test.headers {
			request.Header.Set(name, value)
		}
		if host := test.headers["Host"]; host != "" {
			request.Host = host
		}
		reply := httptest.NewRecorder()
		server.Handler().ServeHTTP(reply, request)
		require.Equal(t, test.status, reply.Code, "%s %s: %s", test.method, test.target, reply.Body)
		require.Contains(t, reply.Body.String(), test.body, "%s %s", test.method, test.target)
		if test.method == http.MethodHead {
			require.Empty(t, reply.Body.String())
		}
		if test.status == http.StatusMethodNotAllowed {
			require.Equal(t, "GET, HEAD", reply.Header().Get("Allow"))
		}
		if strings.HasPrefix(test.target, "/docs/rules") && test.status == http.StatusOK {
			require.Contains(t, reply.Header().Get("Content-Security-Policy"), "default-src 'none'")
			require.Equal(t, "nosniff", reply.Header().Get("X-Content-Type-Options"))
		}
	}
}
