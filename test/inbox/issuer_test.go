//go:build unix && browser

package inbox

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/oidc/oidctest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// issuer signs a person in by an issuer of another site, in a browser that keeps cookies as browsers do.
func (f *flows) issuer(t *testing.T) {
	issuer := oidctest.Start(t)
	issuer.Is("mara", "people")
	service := rig.Start(t, rig.Options{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db"),
		Args:     []string{"--oidc-issuer", issuer.URL, "--oidc-client-id", oidctest.ClientID, "--oidc-roles", "people=operator,chiefs=admin"},
		Env:      []string{"HOLDPOINT_OIDC_CLIENT_SECRET=" + oidctest.ClientSecret},
	})
	p := openPage(t, f.browser, strings.Replace(service.URL(), "127.0.0.1", "localhost", 1), "/history?actor=mara")
	other := p.another("/rules")
	other.find("heading", "Sign in")
	p.front()
	begin := "Sign in with " + strings.TrimPrefix(issuer.URL, "http://")
	p.find("link", begin)
	p.eval(`(() => {
		globalThis.takesMore = Storage.prototype.setItem;
		Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
		return "";
	})()`)
	p.find("link", begin).click()
	p.until("that it cannot begin in this tab", func() bool { return strings.Contains(p.shown(), "This tab's storage is full.") })
	p.eval(`(() => { Storage.prototype.setItem = takesMore; return ""; })()`)
	p.find("link", begin).click()
	p.until("the page of before", func() bool {
		return p.read("location.pathname + location.search") == "/history?actor=mara" && len(p.all(nil, "link", "Rules")) > 0
	})

	other.until("another tab is signed in, too", func() bool { return len(other.all(nil, "heading", "Rules")) == 1 })

	issuer.Is("mallory", "chiefs")
	planted(t, other, issuer)
	p.front()
	p.find("link", "Inbox").click()
	issuer.Is("chief", "chiefs")
	chief := service.Connect(client.WithToken(issuer.IDToken(nil)))
	suspension := one(approval("deploy", `{"target":"staging"}`))
	run, err := chief.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", Input: "go", Suspend: &suspension})
	require.NoError(t, err)
	item := p.prompt("deploy")
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	view, err := chief.GetRequest(t.Context(), run.PendingApprovals[0].Handle)
	require.NoError(t, err)
	require.Equal(t, "user:oidc:mara", view.Resolution.ResolvedBy)
	require.Equal(t, api.OutcomeAllowed, view.Resolution.Outcome)
}

// planted leads a tab of a signed-in person to the end of a sign-in that somebody else began. A program at
// another port of a loopback address can plant the cookie of that flow. The person stays who they were.
func planted(t *testing.T, p *page, issuer *oidctest.Issuer) {
	t.Helper()
	const session = `localStorage.getItem("holdpoint.session") ?? ""`
	before := p.eval(session)
	require.NotEmpty(t, before)
	for _, begun := range []string{"", "the state of a sign-in that was begun in this tab"} {
		cookie, callback := begunElsewhere(t, p.base, issuer)
		p.eval(fmt.Sprintf(`(() => {
			document.cookie = %q;
			if (%q) sessionStorage.setItem("signingIn", %[2]q);
			return "";
		})()`, cookie, begun))
		p.load(callback)
		p.until("that the sign-in was not begun in this tab", func() bool { return strings.Contains(p.shown(), "not begun in this tab") })
		require.Equal(t, before, p.eval(session))
		p.eval(`(() => { sessionStorage.removeItem("signingIn"); return ""; })()`) // the next page would have the other tabs load again
		p.load("/rules")
		p.find("heading", "Rules")
	}
}

// begunElsewhere begins a sign-in outside of the browser. It returns the cookie of the flow, as a script sets it,
// and the path with which the issuer ends the flow.
func begunElsewhere(t *testing.T, base string, issuer *oidctest.Issuer) (cookie, callback string) {
	t.Helper()
	follow := func(address, prefix string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		answer, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusFound, answer.StatusCode)
		to := answer.Header.Get("Location")
		require.True(t, strings.HasPrefix(to, prefix), to)
		return answer, to
	}
	begun, to := follow(base+oidc.StartPath, issuer.URL)
	require.Len(t, begun.Cookies(), 1)
	flow := begun.Cookies()[0]
	_, to = follow(to, base+oidc.CallbackPath)
	at, err := url.Parse(to)
	require.NoError(t, err)
	return fmt.Sprintf("%s=%s; path=%s", flow.Name, flow.Value, flow.Path), at.RequestURI()
}
