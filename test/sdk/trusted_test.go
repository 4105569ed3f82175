//go:build unix && agents

package sdk

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// denoProgram is Deno from npm, installed once in the life of the process.
var denoProgram = sync.OnceValues(func() (string, error) {
	directory, err := newProject()
	if err != nil {
		return "", err
	}
	// There is no lock file: "npm ci" wants the programs of all platforms, which not every registry has.
	_, err = run(directory, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", "deno@2.9.6")
	return filepath.Join(directory, "node_modules", ".bin", "deno"), err
})

func needDeno(t *testing.T) string {
	t.Helper()
	rig.Need(t, "npm")
	program, err := denoProgram()
	require.NoError(t, err)
	return program
}

// guarded is a service that asks for tokens.
type guarded struct {
	service         *rig.Process
	agent, operator string
}

func startGuarded(t *testing.T, arguments ...string) guarded {
	t.Helper()
	service := rig.Start(t, rig.Options{Database: rig.SQLite(t), Args: arguments})
	root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	admin := service.Connect(client.WithToken(root.Secret))
	secret := func(role api.Role) string {
		made, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: string(role), Role: role})
		require.NoError(t, err)
		return made.Secret
	}
	return guarded{service: service, agent: secret(api.RoleAgent), operator: secret(api.RoleOperator)}
}

// given is what the programs are told.
func (g guarded) given(t *testing.T, name, baseURL, ca string) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{"baseUrl": baseURL, "agentToken": g.agent, "operatorToken": g.operator, "name": name, "ca": ca})
	require.NoError(t, err)
	return string(text)
}

// used is what comes of it in every language.
const used = `{"refused": {"stranger": "unauthorized", "operator": "forbidden", "agent": "forbidden"}, "status": "completed",
	"output": {"summary": "Which database?: replica", "declined": false, "checkpoint": {"step": 1}}, "streamed": true}`

// TestLibrariesUseTokensBehindTLS: each library calls a service by HTTPS whose certificate is of an
// authority of its own, with bearer tokens, asks a parent's session and follows a stream; and calls
// nobody whose certificate it does not trust.
func TestLibrariesUseTokensBehindTLS(t *testing.T) {
	guarded := startGuarded(t)
	secure, ca := behindTLS(t, guarded.service.URL())
	project, _ := needNode(t)
	for _, name := range []string{"trusted.mjs", "trusted_main.mjs"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(project, name), text, 0o600))
	}
	script, err := filepath.Abs("trusted.py")
	require.NoError(t, err)
	for _, library := range []struct {
		name, directory string
		command         []string
		env             []string
	}{
		{"node", project, []string{"node", "trusted_main.mjs"}, []string{"NODE_EXTRA_CA_CERTS=" + ca}},
		{"deno", project, []string{needDeno(t), "run", "--quiet", "--allow-net", "--allow-env", "--allow-read", "trusted_main.mjs"}, []string{"DENO_CERT=" + ca}},
		{"python", t.TempDir(), []string{needPython(t), script}, nil},
	} {
		t.Run(library.name, func(t *testing.T) {
			call := func(env []string, given string) string {
				command := exec.CommandContext(rig.Soon(t), library.command[0], append(slices.Clone(library.command[1:]), given)...)
				command.Dir, command.Env = library.directory, append(os.Environ(), env...)
				var said strings.Builder
				command.Stderr = &said
				output, err := command.Output()
				require.NoError(t, err, "%s", &said)
				return strings.TrimSpace(string(output))
			}
			require.JSONEq(t, used, call(library.env, guarded.given(t, library.name, secure, ca)))
			require.Equal(t, "unavailable", call(nil, `{"name": "x", "baseUrl": "`+secure+`"}`), "nobody vouches for it")
		})
	}
}

// inBrowser is the page of another origin that uses the library.
const inBrowser = `<!doctype html><title>working</title><script type="module">
import * as sdk from "/sdk/index.js";
import { useTokens } from "/trusted.mjs";
const given = GIVEN;
const streamed = async () => {
	const made = await fetch(given.baseUrl + "/v1/stream-tickets", {
		method: "POST", headers: { Authorization: "Bearer " + given.agentToken, "Content-Type": "application/json" }, body: JSON.stringify({ path: "/v1/runs/browser/stream" }),
	});
	const { ticket } = await made.json();
	const open = (ticket) => new Promise((resolve) => {
		const source = new EventSource(given.baseUrl + "/v1/runs/browser/stream?ticket=" + encodeURIComponent(ticket));
		const done = (what) => { source.close(); resolve(what); };
		source.onerror = () => done("refused");
		source.addEventListener("snapshot", () => done("a snapshot"));
		source.onmessage = () => done("a message");
	});
	return [await open(ticket), await open(ticket)];
};
try {
	const used = await useTokens(sdk, given);
	document.body.textContent = JSON.stringify({ used, tickets: await streamed() });
} catch (error) {
	document.body.textContent = JSON.stringify({ failed: String(error.stack ?? error) });
}
document.title = "done";
</script>`

// TestTypeScriptInABrowser: a page of an origin that the service allows uses the packed library with
// tokens, and opens an EventSource with a ticket, once. A page of another origin reads nothing.
func TestTypeScriptInABrowser(t *testing.T) {
	project, _ := needNode(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(rig.Need(t, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")), chromedp.UserDataDir(t.TempDir()),
		// A sandbox needs rights that the account of a test may lack, or, as root, a flag.
		chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	rig.KeepNetwork(t)
	allocated, release := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(release)
	browser, stop := chromedp.NewContext(allocated)
	t.Cleanup(stop)

	page := ""
	pages := http.NewServeMux()
	pages.Handle("/sdk/", http.StripPrefix("/sdk/", http.FileServer(http.Dir(filepath.Join(project, "node_modules", "@holdpoint", "sdk", "dist")))))
	pages.HandleFunc("/trusted.mjs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		http.ServeFile(w, r, "trusted.mjs")
	})
	pages.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page)) // a failed write means that the browser has gone
	})
	allowed := httptest.NewServer(pages)
	t.Cleanup(allowed.Close)
	other := httptest.NewServer(pages)
	t.Cleanup(other.Close)
	guarded := startGuarded(t, "--allowed-origin", allowed.URL)
	page = strings.Replace(inBrowser, "GIVEN", guarded.given(t, "browser", guarded.service.URL(), ""), 1)

	shown := func(address string) string {
		require.NoError(t, chromedp.Do(browser, chromedp.Navigate(address)))
		text := ""
		rig.Await(t, func() bool {
			title, err := chromedp.Run(browser, chromedp.Evaluate[string]("document.title"))
			require.NoError(t, err)
			text, err = chromedp.Run(browser, chromedp.Evaluate[string]("document.body?.textContent ?? ''"))
			require.NoError(t, err)
			return title == "done"
		}, "the page does not end")
		return text
	}
	require.JSONEq(t, `{"used": `+used+`, "tickets": ["a snapshot", "refused"]}`, shown(allowed.URL))
	require.Contains(t, shown(other.URL), "failed", "a page of another origin reads nothing")
}
