//go:build unix

package inbox

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// signIn is on a service of its own, which asks for tokens: somebody signs in, decides, and is
// signed out when the token is revoked.
func (f *flows) signIn(t *testing.T) {
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	first, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	admin := service.Connect(client.WithToken(first.Secret))
	mara, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: "mara", Role: api.RoleOperator})
	require.NoError(t, err)
	waits := func(tool string) string {
		suspension := one(approval(tool, `{"target":"staging"}`))
		run, err := admin.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-" + tool, Input: "go", Suspend: &suspension})
		require.NoError(t, err)
		return run.PendingApprovals[0].Handle
	}
	handle := waits("deploy")

	p := openPage(t, f.browser, service.URL(), "/")
	p.find("heading", "Sign in")
	require.NotContains(t, p.shown(), "deploy")
	p.find("textbox", "Token").write(strings.Replace(mara.Secret, "holdpoint_", "holdpoint-", 1))
	p.find("button", "Sign in").click()
	p.until("why not", func() bool { return strings.Contains(p.shown(), "the token does not work") })
	p.find("textbox", "Token").write(mara.Secret)
	p.find("button", "Sign in").click()

	item := p.prompt("deploy")
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	view, err := admin.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	require.Equal(t, "user:mara", view.Resolution.ResolvedBy)
	require.Equal(t, "api:inbox", view.Resolution.Via)
	kept := p.eval("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})")
	require.NotContains(t, kept, "holdpoint_", "no script reads what calls are made with")

	p.find("link", "Settings").click()
	p.until("who is signed in", func() bool { return strings.Contains(p.shown(), "Signed in as user:mara, operator") })
	p.find("button", "Sign out").click()
	p.find("heading", "Sign in")
	p.find("textbox", "Token").write(mara.Secret)
	p.find("button", "Sign in").click()
	p.find("link", "Inbox").click()
	waits("destroy")
	p.prompt("destroy")
	require.NoError(t, admin.RevokeToken(t.Context(), mara.Token.TokenID))
	p.find("heading", "Sign in")
	require.NotContains(t, p.shown(), "destroy")
}
