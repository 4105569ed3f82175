//go:build unix && browser

package inbox

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// signIn uses its own service, which requires tokens: a person signs in, decides, and is signed out
// when the token is revoked.
func (f *flows) signIn(t *testing.T) {
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	first, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	admin := service.Connect(client.WithToken(first.Secret))
	mara, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: "mara", Role: api.RoleOperator})
	require.NoError(t, err)
	raise := func(by *client.Client, tool string, excludeRequester bool) string {
		suspension := one(approval(tool, `{"target":"staging"}`))
		suspension.Approvals[0].ExcludeRequester = excludeRequester
		run, err := by.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-" + tool, Input: "go", Suspend: &suspension})
		require.NoError(t, err)
		return run.PendingApprovals[0].Handle
	}
	waits := func(tool string) string { return raise(admin, tool, false) }
	handle := waits("deploy")

	p := openPage(t, f.browser, service.URL(), "/login")
	p.find("heading", "Sign in")
	require.NotContains(t, p.shown(), "deploy")
	alone := openPage(t, f.browser, service.URL(), "/login")
	alone.find("heading", "Sign in")
	f.wellSet(t, alone, "sign-in")
	p.find("textbox", "Token").write(mara.Secret + "\u200b")
	p.find("button", "Sign in").click()
	p.until("a character that came along", func() bool { return strings.Contains(p.shown(), "Copy it again.") })
	p.find("textbox", "Token").write(strings.Replace(mara.Secret, "holdpoint_", "holdpoint-", 1))
	p.find("button", "Sign in").click()
	p.until("why not", func() bool { return strings.Contains(p.shown(), "the token does not work") })
	p.find("textbox", "Token").write(mara.Secret)
	p.find("button", "Sign in").click()

	item := p.prompt("deploy")
	require.Equal(t, "/", p.eval("location.pathname"), "who is signed in finds the inbox")
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	view, err := admin.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	require.Equal(t, "user:mara", view.Resolution.ResolvedBy)
	require.Equal(t, "api:inbox", view.Resolution.Via)
	kept := p.eval("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})")
	require.NotContains(t, kept, mara.Secret, "the token is kept nowhere")
	f.neighbour(t, p, waits("deploy-again"), admin)

	f.excluded(t, p, admin, service, raise)
	p.menu("Settings")
	p.until("who is signed in", func() bool { return strings.Contains(p.shown(), "Signed in as user:mara, operator") })
	p.find("button", "Sign out").click()
	p.find("heading", "Sign in")
	p.find("textbox", "Token").write(mara.Secret)
	p.find("button", "Sign in").click()
	p.find("link", "Inbox").click()
	waits("destroy")
	p.prompt("destroy")
	const icon = `document.querySelector("link[rel=icon]").href`
	p.until("the number in the title", func() bool { return strings.HasPrefix(p.read("document.title"), "(") })
	counts := p.eval(icon)
	p.eval(`(navigator.setAppBadge = async count => { globalThis.badge = count; }, "")`)
	// The answer to a decision is lost, and so are those to its repetitions until the sign-in has ended.
	lost := waits("lose")
	p.eval(`(globalThis.loses = true, globalThis.fetch = (real => async (...all) => { const answer = await real(...all); if (loses && all[1]?.method === "POST") throw new TypeError("Failed to fetch"); return answer; })(fetch), "")`)
	p.prompt("lose").find("button", "Allow").click()
	p.until("it is recorded", func() bool {
		view, err := admin.GetRequest(t.Context(), lost)
		return err == nil && view.Resolution != nil
	})
	require.NoError(t, admin.RevokeToken(t.Context(), mara.Token.TokenID))
	p.eval(`(globalThis.loses = false, "")`)
	p.find("heading", "Sign in")
	p.until("what may have been recorded", func() bool { return strings.Contains(p.shown(), "It may have been recorded") })
	require.NotContains(t, p.shown(), "destroy")
	p.until("no number in the tab, nor at the icon of the inbox", func() bool {
		return p.read("String(globalThis.badge)") == "0" && p.read(icon) != counts && !strings.HasPrefix(p.read("document.title"), "(")
	})
	f.observes(t, p, admin)
}

// observes: an observer reads requests, and the page offers no decision of theirs, which the service would refuse.
func (f *flows) observes(t *testing.T, p *page, admin *client.Client) {
	olga, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: "olga", Role: api.RoleObserver})
	require.NoError(t, err)
	p.find("textbox", "Token").write(olga.Secret)
	p.find("button", "Sign in").click()
	item := p.prompt("destroy")
	p.until("why not", func() bool { return strings.Contains(item.text(), "Your role, observer, does not decide requests.") })
	for _, name := range []string{"Allow", "Deny", "Edit", "Allow and …"} {
		require.Empty(t, p.all(item, "button", name), name)
	}
	item.call("function() { this.focus(); return 0 }", nil)
	p.press("aderD")
	p.frame()
	require.Empty(t, p.all(nil, "dialog", ""))
	require.Empty(t, p.all(item, "button", "Back"), "no form is open")
	require.Equal(t, "0", p.read(`String(document.querySelectorAll("[role=alert]").length)`), "nothing was refused")
}

// neighbour is another server of this machine, whose page the same browser opens: it is sent nothing that it could
// decide with, and neither signs the person out nor in.
func (f *flows) neighbour(t *testing.T, p *page, handle string, admin *client.Client) {
	got := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			got <- r.Header.Get("Cookie")
			for _, name := range []string{"holdpoint", "holdpoint-oidc"} {
				http.SetCookie(w, &http.Cookie{Name: name, Value: auth.NewSecret(), Path: "/"})
			}
			w.Header().Set("Content-Type", "text/html")
		}
		_, _ = io.WriteString(w, "<title>a dev server</title>")
	}))
	t.Cleanup(other.Close)
	p.eval(`document.cookie = "of=this-address"`)
	require.NoError(t, chromedp.Do(p.tab, chromedp.Navigate(other.URL)))
	cookies := <-got
	require.Contains(t, cookies, "of=this-address", "a browser sends cookies to every port")
	view, err := admin.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	call := func(path, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header = http.Header{"Cookie": {cookies}, "Content-Type": {"application/json"}, "Origin": {p.base}, "Sec-Fetch-Site": {"same-origin"}}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	body, err := json.Marshal(map[string]any{"resolutions": []any{map[string]any{"request_id": "a-deploy-again", "behavior": "allow"}}})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, call("/v1/runs/"+view.RunID+"/approvals", string(body)))
	require.Equal(t, http.StatusUnauthorized, call("/v1/logout", ""))
	// From its page, with the headers that the browser adds.
	for _, path := range []string{"/v1/logout", "/v1/login", "/v1/oidc/callback?state=x&code=y"} {
		p.await(`fetch(` + quoted(p.base+path) + `, {method: "POST", mode: "no-cors", credentials: "include"}).then(() => "", error => error.message)`)
	}
	p.load("/")
	p.prompt("deploy-again").find("button", "Allow").click()
	p.prompt("deploy-again").status("Allowed by you")
	view, err = admin.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	require.Equal(t, "user:mara", view.Resolution.ResolvedBy)
}

// excluded: on a request that excludes her, mara sees the reason instead of Allow. She may deny it,
// and can allow a request that excludes another person.
func (f *flows) excluded(t *testing.T, p *page, admin *client.Client, service *rig.Process, raise func(by *client.Client, tool string, excludeRequester bool) string) {
	works, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: "mara-works", Role: api.RoleAgent, Principal: "user:mara"})
	require.NoError(t, err)
	raise(service.Connect(client.WithToken(works.Secret)), "launch", true)
	item := p.prompt("launch")
	p.until("why not", func() bool { return strings.Contains(item.text(), "You cannot allow this") })
	require.Contains(t, item.text(), "user:mara asked for it")
	for _, name := range []string{"Allow", "Edit"} {
		require.Empty(t, p.all(item, "button", name), name)
	}
	item.call("function() { this.focus(); return 0 }", nil)
	p.press("ae")
	item.find("button", "Allow and …").click()
	sheet := p.find("dialog", "Allow and …")
	sheet.find("button", "Back")
	require.Empty(t, p.all(sheet, "button", "Allow"))
	sheet.find("button", "Back").click()
	p.find("checkbox", "Select launch in s-launch").click()
	p.until("the bar for several", func() bool { return len(p.all(nil, "group", "Selected")) == 1 })
	require.True(t, p.find("group", "Selected").find("button", "Allow selected (0)").disabled())
	require.Contains(t, p.find("group", "Selected").text(), "1 of these is your own request.")
	p.find("button", "Select none").click()
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")

	raise(admin, "land", true)
	item = p.prompt("land")
	p.until("it is known", func() bool { return !item.find("button", "Allow").disabled() })
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	f.excludedTogether(t, p, admin, service.Connect(client.WithToken(works.Secret)), raise)
}

// excludedTogether selects requests that exclude who asked for them, of which the list does not say whether mara may allow
// them: hers and unread ones are left out, and the others are allowed.
func (f *flows) excludedTogether(t *testing.T, p *page, admin, works *client.Client, raise func(by *client.Client, tool string, excludeRequester bool) string) {
	outcome := func(handle string) api.Outcome {
		view, err := admin.GetRequest(t.Context(), handle)
		require.NoError(t, err)
		if view.Resolution == nil {
			return ""
		}
		return view.Resolution.Outcome
	}
	read := raise(admin, "read-one", true)
	item := p.prompt("read-one")
	item.find("button", "Allow")
	p.calm()
	p.frame()
	unread, own := raise(admin, "unread-one", true), raise(works, "own-one", true)
	for _, tool := range []string{"read-one", "unread-one", "own-one"} {
		p.row(tool)
		p.find("checkbox", "Select "+tool+" in s-"+tool).click()
	}
	bar := p.find("group", "Selected")
	allow := bar.find("button", "Allow selected (1)")
	p.until("what is known of each", func() bool {
		text := bar.text()
		return strings.Contains(text, "1 of these is your own request.") && strings.Contains(text, "1 was not read and is left out") && !strings.Contains(text, "not known yet")
	})
	require.False(t, allow.disabled())
	allow.click()
	dialog := p.find("dialog", "Allow selected")
	require.Contains(t, dialog.find("list", "Will be allowed").text(), "read-one")
	left := dialog.find("list", "Left out").text()
	require.Contains(t, left, "your own request")
	require.Contains(t, left, "not read")
	dialog.find("button", "Allow 1 call").click()
	item.status("Allowed by you")
	require.Equal(t, api.OutcomeAllowed, outcome(read))
	require.Empty(t, outcome(unread))
	require.Empty(t, outcome(own))
	p.find("button", "Select none").click()
	for _, handle := range []string{unread, own} {
		view, err := admin.GetRequest(t.Context(), handle)
		require.NoError(t, err)
		_, err = admin.CancelRun(t.Context(), view.RunID, "")
		require.NoError(t, err)
	}

	// The same call of three sessions, of which mara has opened one.
	var same []string
	for _, session := range []string{"same-1", "same-2", "same-3"} {
		suspension := one(approval("ship", `{"target":"production"}`))
		suspension.Approvals[0].ExcludeRequester = true
		run, err := admin.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, Input: "go", Suspend: &suspension})
		require.NoError(t, err)
		same = append(same, run.PendingApprovals[0].Handle)
	}
	p.until("they share a row", func() bool { return strings.Contains(p.read(`document.querySelector(".list").innerText`), "×3") })
	item = p.prompt("ship")
	p.until("it is known", func() bool { return !item.find("button", "Allow").disabled() })
	item.find("button", "Allow").click()
	const all = "Allow 3 calls: same-1, same-2, same-3"
	dialog = p.find("dialog", all)
	require.False(t, dialog.find("button", all).disabled())
	dialog.find("button", all).click()
	for _, handle := range same {
		p.until("it is allowed", func() bool { return outcome(handle) == api.OutcomeAllowed })
	}
}

// firstToken creates the first token of a service that was open until then: the secret is shown until the person is done
// with it, and then the page asks for a token.
func (f *flows) firstToken(t *testing.T) {
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	service.ConnectPatiently()
	p := openPage(t, f.browser, service.URL(), "/settings")
	p.find("textbox", "Name").write("root") // the role is admin until another one is chosen
	// The page is told that it is signed out, and shows the secret.
	p.eval(`(() => {
		const real = globalThis.fetch;
		globalThis.refused = 0;
		globalThis.fetch = async (...args) => { const response = await real(...args); if (response.status === 401) refused++; return response; };
		return "";
	})()`)
	p.find("button", "Create token").click()
	secret := strings.Trim(p.find("region", "The new token").call(`function() { return this.querySelector("pre").innerText.trim() }`, nil), `"`)
	require.Regexp(t, "^holdpoint_[0-9A-Za-z]{49}$", secret)
	p.until("a read was refused", func() bool { return p.read("String(refused)") != "0" })
	p.frame()
	require.Contains(t, p.shown(), secret)
	p.find("button", "Done").click()
	p.find("heading", "Sign in")
	require.NotContains(t, p.shown(), secret)
	me, err := service.Connect(client.WithToken(secret)).Me(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.RoleAdmin, me.Role)

	// Another tab signs out, and a secret stays here all the same.
	p.find("textbox", "Token").write(secret)
	p.find("button", "Sign in").click()
	p.find("textbox", "Name").write("builder")
	p.find("button", "Create token").click()
	p.find("region", "The new token")
	other := p.another("/settings")
	other.find("button", "Sign out").click()
	other.find("heading", "Sign in")
	p.front()
	p.frame()
	p.find("region", "The new token")
	p.find("button", "Done").click()
	p.find("heading", "Sign in")
}

// tokens manages tokens in the settings: a token is created, its secret is shown once, and it works
// until it is revoked.
func (f *flows) tokens(t *testing.T) {
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	p := openPage(t, f.browser, service.URL(), "/settings")
	p.find("textbox", "Token").write(root.Secret)
	p.find("button", "Sign in").click()
	p.find("heading", "Tokens")
	p.find("textbox", "Name").write("two words")
	p.find("button", "Create token").click()
	p.until("why not", func() bool { return len(p.all(nil, "alert", "")) == 1 })
	p.find("textbox", "Name").write("builder")
	p.find("combobox", "Role").choose("agent: runs agents")
	p.find("combobox", "Expires").choose("In 1 day")
	p.find("button", "Create token").click()
	secret := strings.Trim(p.find("region", "The new token").call(`function() { return this.querySelector("pre").innerText.trim() }`, nil), `"`)
	require.Regexp(t, "^holdpoint_[0-9A-Za-z]{49}$", secret)
	builder := service.Connect(client.WithToken(secret))
	me, err := builder.Me(t.Context())
	require.NoError(t, err)
	require.Equal(t, "agent:builder", me.Principal)
	require.NotZero(t, me.ExpiresAtMs)
	p.find("button", "Done").click()
	p.until("the secret is gone", func() bool { return !strings.Contains(p.shown(), secret) })
	require.NotContains(t, p.eval("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})"), secret)

	row := `[...document.querySelectorAll("tr")].find(one => one.innerText.startsWith("builder"))`
	p.eval("(" + row + `.querySelector("button").click(), "")`)
	p.until("it asks", func() bool { return strings.Contains(p.shown(), "Callers that use it are refused at once") })
	p.eval("(" + row + `.querySelector("button.deny").click(), "")`)
	p.until("it is revoked", func() bool { return strings.Contains(p.read(row+".innerText"), "revoked") })
	_, err = builder.Me(t.Context())
	require.Error(t, err)
}
