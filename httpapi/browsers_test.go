package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/web"
)

const inboxOrigin = "https://inbox.example"

func fetchedFrom(site string) option { return header("Sec-Fetch-Site", site) }

// withOrigins starts a service with values of --allowed-origin.
func withOrigins(t *testing.T, origins ...string) *rig {
	t.Helper()
	return serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.Origins = origins })
}

// TestPreflightsOfAllowedOrigins asks, for every method and header of every operation of
// openapi.yaml, as a browser asks before a page's call.
func TestPreflightsOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	a := withOrigins(t, inboxOrigin, "*")
	ask := func(path, method, headers, origin string) *reply {
		return a.do(t, http.MethodOptions, path, "", unchecked(), header("Origin", origin), fetchedFrom("cross-site"),
			header("Access-Control-Request-Method", method), header("Access-Control-Request-Headers", headers))
	}
	for path, item := range loadDocument(t).Paths.Map() {
		path = strings.NewReplacer("{", "", "}", "").Replace(path)
		for method, operation := range item.Operations() {
			headers := []string{"content-type"}
			for _, parameter := range append(item.Parameters, operation.Parameters...) {
				if parameter.Value.In == "header" {
					headers = []string{strings.ToLower(parameter.Value.Name)}
				}
				for _, name := range headers {
					got := ask(path, method, name, inboxOrigin).want(http.StatusNoContent)
					require.Equal(t, inboxOrigin, got.header.Get("Access-Control-Allow-Origin"), "%s %s %s", method, path, name)
					require.Equal(t, "true", got.header.Get("Access-Control-Allow-Credentials"))
					require.Equal(t, method, got.header.Get("Access-Control-Allow-Methods"))
					require.Equal(t, name, got.header.Get("Access-Control-Allow-Headers"))
					require.Contains(t, strings.Join(got.header.Values("Vary"), ", "), "Origin")
					require.Equal(t, "cross-origin", got.header.Get("Cross-Origin-Resource-Policy"))
				}
			}
			unnamed := ask(path, method, "content-type", "https://other.example").want(http.StatusNoContent)
			require.Equal(t, "*", unnamed.header.Get("Access-Control-Allow-Origin"), "%s %s", method, path)
			require.Empty(t, unnamed.header.Get("Access-Control-Allow-Credentials"), "never with *")
		}
	}
	for _, refused := range []*reply{
		ask("/v1/runs", "TRACE", "content-type", inboxOrigin),
		ask("/v1/runs", "POST", "x-forwarded-for", inboxOrigin),
	} {
		require.Empty(t, refused.header.Get("Access-Control-Allow-Origin"))
	}
	a.do(t, http.MethodOptions, "/v1/runs", "", unchecked()).refused(wire.CodeMethodNotAllowed)
}

// TestPreflightsOfOtherOrigins: preflights of other origins are refused on every route except
// probes.
func TestPreflightsOfOtherOrigins(t *testing.T) {
	t.Parallel()
	for _, origins := range [][]string{nil, {inboxOrigin}} {
		a := withOrigins(t, origins...)
		for _, origin := range []string{"https://elsewhere.example", inboxOrigin + ".evil", inboxOrigin + ":444", "http://inbox.example", "null"} {
			got := a.do(t, http.MethodOptions, "/v1/runs", "", unchecked(), header("Origin", origin), header("Access-Control-Request-Method", "POST"))
			got.refused(wire.CodeOriginNotAllowed)
			for name := range got.header {
				require.NotContains(t, name, "Access-Control-", "%s", origin)
			}
			require.Equal(t, "same-origin", got.header.Get("Cross-Origin-Resource-Policy"))
		}
	}
}

func TestRepliesToAllowedOrigins(t *testing.T) {
	t.Parallel()
	a := withOrigins(t, inboxOrigin)
	got := a.post(t, "/v1/runs", `{"input":1}`, header("Origin", inboxOrigin), fetchedFrom("cross-site")).want(http.StatusAccepted)
	require.Equal(t, inboxOrigin, got.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", got.header.Get("Access-Control-Allow-Credentials"))
	require.Equal(t, "cross-origin", got.header.Get("Cross-Origin-Resource-Policy"))
	exposed := got.header.Get("Access-Control-Expose-Headers")
	for name := range loadDocument(t).Components.Headers {
		require.Contains(t, exposed, http.CanonicalHeaderKey(name))
	}
	// A page sees why it was refused, too.
	missing := a.get(t, "/v1/runs/nothing", header("Origin", inboxOrigin)).want(http.StatusNotFound)
	require.Equal(t, inboxOrigin, missing.header.Get("Access-Control-Allow-Origin"))

	everyone := withOrigins(t, "*")
	got = everyone.get(t, "/v1/runs", header("Origin", "null"), fetchedFrom("cross-site")).want(http.StatusOK)
	require.Equal(t, "*", got.header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, got.header.Get("Access-Control-Allow-Credentials"))
	everyone.get(t, "/v1/runs", fetchedFrom("cross-site")).refused(wire.CodeOriginNotAllowed)

	own := a.get(t, "/v1/runs", header("Origin", a.server.URL), fetchedFrom("same-origin")).want(http.StatusOK)
	require.Empty(t, own.header.Get("Access-Control-Allow-Origin"), "a page of the service itself needs no leave")
	require.Equal(t, "same-origin", own.header.Get("Cross-Origin-Resource-Policy"))
}

// TestCrossSiteRequestsWithoutOrigin covers images, scripts, GET forms, and links on other sites.
func TestCrossSiteRequestsWithoutOrigin(t *testing.T) {
	t.Parallel()
	a := withOrigins(t, inboxOrigin)
	for path, item := range loadDocument(t).Paths.Map() {
		path = strings.NewReplacer("{", "", "}", "").Replace(path)
		for method := range item.Operations() {
			got := a.do(t, method, path, "", unchecked(), fetchedFrom("cross-site"))
			require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			require.Equal(t, "same-origin", got.header.Get("Cross-Origin-Resource-Policy"))
			require.Contains(t, got.header.Values("Vary"), "Origin")
			if path == "/livez" || path == "/readyz" || path == "/version" {
				got.want(http.StatusOK)
				continue
			}
			if path == "/v1/oidc/start" || path == "/v1/oidc/callback" {
				// The issuer leads the browser here. This service has none.
				got.refused(api.CodeNoIssuer)
				continue
			}
			got.refused(wire.CodeOriginNotAllowed)
		}
	}
	a.get(t, "/nowhere", unchecked(), fetchedFrom("cross-site")).refused(wire.CodeOriginNotAllowed)
	for _, site := range []string{"same-origin", "same-site", "none", ""} {
		a.get(t, "/v1/runs", fetchedFrom(site)).want(http.StatusOK)
	}
	// A page of another port of the machine may not change anything: a form sends no Origin.
	a.post(t, "/v1/sessions", `{}`, fetchedFrom("same-site")).refused(wire.CodeOriginNotAllowed)
}

// TestALinkOfAnotherSiteOpensAPage: a link opens the page, and no script of the other site can read
// it. Such a call opens nothing else.
func TestALinkOfAnotherSiteOpensAPage(t *testing.T) {
	t.Parallel()
	site, err := web.New()
	require.NoError(t, err)
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.Pages = site })
	link := func(path, mode, destination string) *reply {
		return a.get(t, path, unchecked(), fetchedFrom("cross-site"), header("Accept", "text/html,*/*;q=0.8"),
			header("Sec-Fetch-Mode", mode), header("Sec-Fetch-Dest", destination))
	}
	for _, path := range []string{"/", "/?prompt=h_01", "/runs/r", "/history"} {
		link(path, "navigate", "document").want(http.StatusOK)
		link(path, "navigate", "iframe").refused(wire.CodeOriginNotAllowed)
		link(path, "no-cors", "image").refused(wire.CodeOriginNotAllowed)
	}
	for _, path := range []string{"/v1/runs", "/v1/approvals", "/assets/app.js"} {
		link(path, "navigate", "document").refused(wire.CodeOriginNotAllowed)
	}
}

// TestRefusalsNameTheFlagThatMendsThem calls as a proxy does that rewrites Host.
func TestRefusalsNameTheFlagThatMendsThem(t *testing.T) {
	t.Parallel()
	a := withOrigins(t)
	upstream := func(r *http.Request) *http.Request {
		r.Host = "holdpoint_upstream"
		return r
	}
	refused := a.get(t, "/v1/runs", upstream).refused(wire.CodeHostNotAllowed)
	require.Contains(t, refused.textAt("detail"), "--allowed-host")
	require.Contains(t, refused.textAt("detail"), "holdpoint_upstream")
	refused = a.post(t, "/v1/runs", `{"input":1}`, header("Origin", "http://localhost:5173")).refused(wire.CodeOriginNotAllowed)
	require.Contains(t, refused.textAt("detail"), "--allowed-origin")
	require.Contains(t, refused.textAt("detail"), "http://localhost:5173")
}
