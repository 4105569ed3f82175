//go:build unix && browser

package inbox

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// webhooks manages a webhook as an administrator: it is created, its secret is shown once, it
// fails, is enabled again, and its failed delivery is retried. Other users have no such page.
func (f *flows) webhooks(t *testing.T) {
	if !storetest.Thorough {
		return // with the suites under "faults"
	}
	var status atomic.Int64
	status.Store(http.StatusGone)
	var secret atomic.Value
	verified := make(chan error, 100)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if shown, is := secret.Load().(string); err == nil && is && status.Load() == http.StatusOK {
			var verifier *standardwebhooks.Webhook
			if verifier, err = standardwebhooks.NewWebhook(shown); err == nil {
				err = verifier.Verify(body, r.Header)
			}
			verified <- err
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(endpoint.Close)
	service := rig.Start(t, rig.Options{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db"), Args: []string{"--webhook-allow", "127.0.0.0/8", "--callback-allow", "127.0.0.0/8"},
		Env: []string{"HOLDPOINT_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
	})
	root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	admin := service.Connect(client.WithToken(root.Secret))
	p := openPage(t, f.browser, service.URL(), "/webhooks")
	if f.phone {
		p.in("dark", 390, 844)
	}
	p.find("textbox", "Token").write(root.Secret)
	p.find("button", "Sign in").click()
	p.until("nothing is there", func() bool { return strings.Contains(p.shown(), "There are no webhooks.") })
	p.find("button", "More").click()
	p.find("link", "Webhooks")
	// No kind of event is not all of them.
	create := p.find("button", "Create webhook")
	for _, kind := range []string{"approvals", "questions"} {
		p.find("checkbox", kind).click()
	}
	p.until("it wants a kind", func() bool {
		return create.disabled() && strings.Contains(p.shown(), "Choose at least one kind of event.")
	})
	p.find("checkbox", "approvals").click()
	p.until("it has one", func() bool { return !create.disabled() })
	p.find("textbox", "URL").write("http://169.254.169.254/latest")
	p.find("button", "Create webhook").click()
	p.until("why not", func() bool { return len(p.all(nil, "alert", "")) == 1 })
	p.find("textbox", "URL").write(endpoint.URL + "/hook")
	p.find("button", "Create webhook").click()
	shown := strings.Trim(p.find("region", "The new webhook").call(`function() { return this.querySelector("pre").innerText.trim() }`, nil), `"`)
	require.Regexp(t, "^whsec_", shown)
	secret.Store(shown)
	p.find("button", "Done").click()
	p.until("the secret is gone", func() bool { return !strings.Contains(p.shown(), shown) })
	require.NotContains(t, p.eval("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})"), shown)

	asked := approval("deploy", `{}`)
	asked.Callback = &api.Callback{URL: endpoint.URL + "/decided", Token: "token-of-the-caller"}
	_, err = admin.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{asked}}})
	require.NoError(t, err)
	p.until("it is disabled", func() bool {
		return strings.Contains(p.shown(), "its endpoint answered that it is gone") && strings.Contains(p.shown(), "1 given up") && strings.Contains(p.shown(), "Last error: status 410")
	})
	p.load("/webhooks") // without the open menu
	p.until("it is shown again", func() bool { return strings.Contains(p.shown(), "1 given up") })
	f.wellSet(t, p, "webhooks")
	status.Store(http.StatusOK)
	p.find("button", "Enable").click()
	p.until("it is enabled", func() bool { return !strings.Contains(p.shown(), "its endpoint answered") })
	p.find("button", "Deliver again").click()
	require.NoError(t, <-verified)
	p.until("no delivery is pending", func() bool { return !strings.Contains(p.shown(), "given up") })
	p.find("button", "Test").click()
	p.until("what came of it", func() bool { return strings.Contains(p.shown(), "The test event was delivered") })
	require.NoError(t, <-verified)
	require.Equal(t, "yes", p.eval(`document.documentElement.scrollWidth <= innerWidth ? "yes" : document.documentElement.scrollWidth + " wide"`))
	p.find("button", "Delete").click()
	p.until("it asks", func() bool { return strings.Contains(p.shown(), "Deleting is permanent") })
	p.find("alert", "").find("button", "Delete").click()
	p.until("nothing is there", func() bool { return strings.Contains(p.shown(), "There are no webhooks.") })

	p.load("/settings")
	p.until("the tokens", func() bool { return strings.Contains(p.shown(), "root") })
	f.wellSet(t, p, "tokens")
	operator, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: "mara", Role: api.RoleOperator})
	require.NoError(t, err)
	p = openPage(t, f.browser, service.URL(), "/")
	p.find("textbox", "Token").write(operator.Secret)
	p.find("button", "Sign in").click()
	p.find("button", "More").click()
	p.find("link", "Settings")
	p.until("who it is", func() bool { return strings.Contains(p.shown(), "deploy") })
	require.Empty(t, p.all(nil, "link", "Webhooks"))
}
