package dialecttest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// TestBrowsers checks on every route of a dialect that pages of an allowed origin may call it and
// other pages may not.
func TestBrowsers(t *testing.T, mount kit.Mount) {
	t.Helper()
	const inbox = "https://inbox.example"
	s := Serve(t, SQLite(t), mount, func(o *httpapi.Options) { o.Origins = []string{inbox} })
	routes := mount(kit.Services{}).Routes
	require.NotEmpty(t, routes)
	each := func(method, path string) {
		ask := func(origin string) *Reply {
			return s.Do(t, http.MethodOptions, path, "", Header("Origin", origin), Header("Sec-Fetch-Site", "cross-site"),
				Header("Access-Control-Request-Method", method), Header("Access-Control-Request-Headers", "content-type"))
		}
		allowed := ask(inbox).Want(http.StatusNoContent)
		require.Equal(t, inbox, allowed.Header.Get("Access-Control-Allow-Origin"), "%s %s", method, path)
		require.Equal(t, method, allowed.Header.Get("Access-Control-Allow-Methods"))
		require.Equal(t, "true", allowed.Header.Get("Access-Control-Allow-Credentials"))
		require.Empty(t, ask("https://elsewhere.example").Want(http.StatusForbidden).Header.Get("Access-Control-Allow-Origin"))

		crossSite := s.Do(t, method, path, "", Header("Sec-Fetch-Site", "cross-site")).Want(http.StatusForbidden)
		require.Equal(t, "same-origin", crossSite.Header.Get("Cross-Origin-Resource-Policy"))
		require.Equal(t, "nosniff", crossSite.Header.Get("X-Content-Type-Options"))
		if method != http.MethodHead {
			require.Equal(t, "origin_not_allowed", crossSite.At("code"), "%s %s", method, path)
		}
		if method == http.MethodPost {
			// An invalid body, so that no stream starts.
			called := s.Do(t, method, path, "[", Header("Sec-Fetch-Site", "cross-site"), Header("Origin", inbox))
			require.NotEqual(t, http.StatusForbidden, called.Status, called.Text)
			require.Equal(t, inbox, called.Header.Get("Access-Control-Allow-Origin"))
			require.Equal(t, "cross-origin", called.Header.Get("Cross-Origin-Resource-Policy"))
		}
	}
	for _, route := range routes {
		for _, method := range route.Methods {
			each(method, strings.NewReplacer("{", "", "}", "").Replace(route.Path))
		}
	}
}
