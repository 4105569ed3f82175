//go:build unix && browser

package inbox

import (
	"bufio"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// viewing shows who else has a request open, and shows others what this person has open, unless they switch it off.
func (f *flows) viewing(t *testing.T) {
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	admin := service.Connect(client.WithToken(root.Secret))
	secrets := map[string]string{}
	for _, name := range []string{"mara", "ben"} {
		made, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: name, Role: api.RoleOperator})
		require.NoError(t, err)
		secrets[name] = made.Secret
	}
	ben := service.Connect(client.WithToken(secrets["ben"]))
	var handles []string
	for _, tool := range []string{"first-open", "second-open"} {
		suspension := one(approval(tool, `{"target":"staging"}`))
		run, err := admin.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-" + tool, Input: "go", Suspend: &suspension})
		require.NoError(t, err)
		handles = append(handles, run.PendingApprovals[0].Handle)
	}
	seen := f.seenBy(t, service.URL(), secrets["ben"])

	p := openPage(t, f.browser, service.URL(), "/login")
	if f.phone {
		p.in("dark", 390, 844)
	}
	p.find("textbox", "Token").write(secrets["mara"])
	p.find("button", "Sign in").click()
	item := p.prompt("second-open")
	const place = `function() { const at = this.getBoundingClientRect(); return [at.x, at.y, at.width].join(); }`
	look := item.find("button", "I'm looking at this")
	before := look.call(place, nil)
	p.press("\t") // the person is there
	seen(handles[1], "user:mara")
	require.NoError(t, ben.SetPresence(t.Context(), api.PresenceBody{Visible: true, Viewing: &handles[1]}))
	p.until("who else has it open", func() bool { return strings.Contains(item.text(), "Ben has it open") })
	require.Equal(t, before, look.call(place, nil), "the button stays under the pointer")
	if !f.phone {
		require.Contains(t, p.read(`document.getElementById("prompt-`+handles[1]+`").textContent`), "ben has it open")
	}
	p.accessible("a request that somebody else has open")
	f.shoot(t, p, "viewing")
	require.NoError(t, ben.SetPresence(t.Context(), api.PresenceBody{}))
	p.until("nobody has", func() bool { return !strings.Contains(item.text(), "has it open") })

	p.menu("Settings")
	seen("", "")
	p.find("checkbox", "Show others which request I have open").click()
	present := `String(performance.getEntriesByType("resource").filter(one => one.name.endsWith("/v1/me/presence") && one.responseStatus === 204).length)`
	said := p.read(present)
	p.eval(`document.querySelector("nav a[href='/']").click() ?? ""`)
	item = p.prompt("first-open")
	p.press("\t")
	p.until("the page has said that its person is there", func() bool { return p.read(present) != said })
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	require.NoError(t, admin.SetPresence(t.Context(), api.PresenceBody{Visible: true, Viewing: &handles[1]}))
	for _, frame := range seen(handles[1], "user:root") {
		require.NotContains(t, frame, "user:mara")
	}
}

// seenBy follows who somebody sees at requests. The function that it returns waits until that is this person at this
// request alone, or nobody with "", and returns the frames until then.
func (f *flows) seenBy(t *testing.T, base, secret string) func(handle, who string) []string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/stream?viewing=true", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+secret)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	frames := make(chan string, 1000)
	go func() {
		defer close(frames)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, is := strings.CutPrefix(lines.Text(), `data: {"requests":`); is {
				frames <- data
			}
		}
	}()
	return func(handle, who string) (until []string) {
		t.Helper()
		wanted := `[]}`
		if handle != "" {
			wanted = `[{"handle":"` + handle + `","viewing":["` + who + `"]}]}`
		}
		watchdog := time.After(2 * time.Minute)
		for {
			select {
			case frame, there := <-frames:
				require.True(t, there, "the stream ended")
				if until = append(until, frame); frame == wanted {
					return until
				}
			case <-watchdog:
				require.Fail(t, "nobody sees it", "%s by %s, but %q", handle, who, until)
			}
		}
	}
}
