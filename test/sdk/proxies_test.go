//go:build unix && agents

package sdk

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// freeAddress is one that nothing listens on. Its port is below those that the system hands out: another program may get one of
// these before the proxy listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err != nil {
			require.NoError(t, t.Context().Err())
			continue
		}
		require.NoError(t, free.Close())
		return free.Addr().String()
	}
}

// answered makes a call and returns its status and text; 0 while nobody listens.
func answered(t *testing.T, method, address, body string, headers ...string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(rig.Soon(t), method, address, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	var read bytes.Buffer
	_, err = read.ReadFrom(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, read.String()
}

// follows reads a stream until a line of it has the text.
func follows(t *testing.T, method, address, body, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(rig.Soon(t), method, address, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	require.Fail(t, "the stream ended", "without %s: %v", text, lines.Err())
}

// awaitProxy waits until something listens.
func awaitProxy(t *testing.T, proxy *program, address string) {
	t.Helper()
	rig.Await(t, func() bool {
		select {
		case <-proxy.ended:
			require.FailNow(t, "the proxy ended", "%s", proxy.output)
		default:
		}
		status, _ := answered(t, http.MethodGet, address, "")
		return status != 0
	}, "the proxy does not listen")
}

// asks raises an approval in the session demo.
func asks(t *testing.T, people *client.Client) {
	t.Helper()
	_, err := people.CreateRun(t.Context(), client.CreateRunParams{RunID: "tidy", SessionID: "demo", Input: "go", Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "rm", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"rm -rf build"}`)}},
	}})
	require.NoError(t, err)
}

// passes checks what a page needs of a proxy: it decides from the proxy's origin and from no other, and streams come at once.
func passes(t *testing.T, proxy string, people *client.Client) {
	t.Helper()
	asks(t, people)
	follows(t, http.MethodGet, proxy+"/v1/sessions/demo/stream", "", `"pending_approvals":[{`)
	const deny = `{"resolutions": [{"request_id": "rm", "behavior": "deny"}]}`
	status, text := answered(t, http.MethodPost, proxy+"/v1/runs/tidy/approvals", deny, "Origin", "http://elsewhere.example")
	require.Equal(t, http.StatusForbidden, status, text)
	require.Contains(t, text, "origin_not_allowed")
	status, text = answered(t, http.MethodPost, proxy+"/v1/runs/tidy/approvals", deny, "Origin", proxy)
	require.Equal(t, http.StatusAccepted, status, text)
}

// TestCaddyPassesCalls starts Caddy with the file of docs/behind-a-proxy.md, without TLS, and with that of docs/hermes.md.
func TestCaddyPassesCalls(t *testing.T) {
	caddy := rig.Need(t, "caddy")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the page")) }))
	t.Cleanup(page.Close)
	served := func(name string) (string, *client.Client) {
		service, directory, address := rig.Start(t, rig.Options{Database: rig.SQLite(t)}), t.TempDir(), freeAddress(t)
		shown := blocks(t, "docs/"+name+".md", "caddyfile")
		require.Len(t, shown, 1)
		text := "{\n\tadmin off\n}\n" + strings.NewReplacer(
			"inbox.example", "http://"+address, "http://127.0.0.1:8792", "http://"+address,
			"127.0.0.1:4000", service.Address(), "127.0.0.1:8787", page.Listener.Addr().String(),
		).Replace(shown[0])
		require.NoError(t, os.WriteFile(filepath.Join(directory, "Caddyfile"), []byte(text), 0o600))
		// It keeps certificates in the home directory. The build of the service has its cache in the test's own.
		proxy := start(t, directory, "env", "HOME="+directory, "XDG_DATA_HOME="+directory, "XDG_CONFIG_HOME="+directory, caddy, "run", "--config", "Caddyfile", "--adapter", "caddyfile")
		awaitProxy(t, proxy, "http://"+address)
		return "http://" + address, service.ConnectPatiently()
	}
	inbox, people := served("behind-a-proxy")
	passes(t, inbox, people)

	hermes, people := served("hermes")
	asks(t, people)
	_, text := answered(t, http.MethodGet, hermes+"/", "")
	require.Equal(t, "the page", text)
	_, text = answered(t, http.MethodGet, hermes+"/api/approval/pending?session_id=demo", "")
	require.Contains(t, text, "rm -rf build")
	follows(t, http.MethodGet, hermes+"/api/approval/stream?session_id=demo", "", "rm -rf build")
	_, text = answered(t, http.MethodPost, hermes+"/api/approval/respond", `{"session_id":"demo","choice":"once"}`, "Origin", hermes)
	require.Contains(t, text, `"ok": true`)
	_, text = answered(t, http.MethodGet, hermes+"/api/clarify/pending?session_id=demo", "")
	require.Contains(t, text, `"pending"`)
}

// TestViteServesAPageOfTheService starts Vite with the configuration of docs/behind-a-proxy.md.
func TestViteServesAPageOfTheService(t *testing.T) {
	rig.Need(t, "npm")
	service, directory, address := rig.Start(t, rig.Options{Database: rig.SQLite(t)}), t.TempDir(), freeAddress(t)
	// There is no lock file: "npm ci" wants the programs of all platforms, which not every registry has.
	_, err := run(directory, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", "vite@8.4.0")
	require.NoError(t, err)
	shown := blocks(t, "docs/behind-a-proxy.md", "js")
	require.Len(t, shown, 1)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "vite.config.js"), []byte(strings.ReplaceAll(shown[0], "http://127.0.0.1:4000", service.URL())), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "index.html"), []byte("<!doctype html><title>a page</title>"), 0o600))
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	vite := "http://localhost:" + port
	awaitProxy(t, start(t, directory, filepath.Join("node_modules", ".bin", "vite"), "--port", port, "--strictPort"), vite)
	_, text := answered(t, http.MethodGet, vite+"/", "")
	require.Contains(t, text, "a page")
	passes(t, vite, service.ConnectPatiently())
}

// nginxFile finds the configuration that adds a token.
var nginxFile = regexp.MustCompile("(?s)Save these lines as `token\\.conf`.*?```nginx\n(.*?)```")

// proxies types the command that starts the proxy which adds the token that the blocks before have made, and has clients that
// send none call through it.
func (p *typist) proxies(command string) {
	p.Helper()
	rig.Need(p.T, "nginx")
	shown := nginxFile.FindStringSubmatch(p.page)
	require.NotNil(p, shown)
	address := freeAddress(p.T)
	text := strings.NewReplacer("127.0.0.1:4001", address, "127.0.0.1:4000", p.service.Address()).Replace(shown[1])
	require.NoError(p, os.WriteFile(filepath.Join(p.directory, "token.conf"), []byte(text), 0o600))
	proxy := "http://" + address
	awaitProxy(p.T, start(p.T, p.directory, "bash", "-c", command), proxy)

	status, _ := answered(p.T, http.MethodGet, p.service.URL()+"/v1/me", "")
	require.Equal(p, http.StatusUnauthorized, status)
	status, said := answered(p.T, http.MethodGet, proxy+"/v1/me", "")
	require.Equal(p, http.StatusOK, status, said)
	require.Contains(p, said, `"role":"operator"`)
	follows(p.T, http.MethodPost, proxy+"/chat", `{"model":"none","messages":[{"role":"user","content":"clean up"}]}`, `"connected"`)
	follows(p.T, http.MethodPost, proxy+"/stream", `{"prompt":"set up my database"}`, `"START"`)
	status, said = answered(p.T, http.MethodGet, proxy+"/api/sessions", "")
	require.Equal(p, http.StatusOK, status, said)
	secret, err := os.ReadFile(filepath.Join(p.directory, "admin.token"))
	require.NoError(p, err)
	passes(p.T, proxy, p.service.Connect(client.WithToken(strings.TrimSpace(string(secret)))))
}
