//go:build unix

package inbox

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
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
