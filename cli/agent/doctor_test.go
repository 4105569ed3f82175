package agent

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
)

// The doctor judges the token that the hook uses: the one of the context or the file that its command names.
func TestDoctorTakesTheTokenFromTheCommand(t *testing.T) {
	t.Parallel()
	service := withTokens(t)
	directory := t.TempDir()
	contexts, token := filepath.Join(directory, "contexts.json"), filepath.Join(directory, "the token")
	require.NoError(t, os.WriteFile(contexts, []byte(`{"current":"mine","contexts":{"mine":{"server":"`+service.URL+`","token":"ada"},"prod":{"server":"`+service.URL+`","token":"coder"}}}`), 0o600))
	require.NoError(t, os.WriteFile(token, []byte("coder\n"), 0o600))
	terminal := &console.Console{
		Context: console.Context{Server: service.URL, Token: "ada"},
		Env: func(name string) (string, bool) {
			if name != "HOLDPOINT_CONTEXTS" {
				return "", false
			}
			return contexts, true
		},
	}
	agents := finding{holds, "the agent's token has the role agent and cannot decide"}
	for flags, expected := range map[string]finding{
		"":                              {open, "the agent's token has the role admin and can allow its own calls: give the agent one of role agent"},
		" --context prod":               agents,
		" --context=prod":               agents,
		` --token-file "` + token + `"`: agents,
		` --token-file='` + token + `'`: agents,
		" --context nowhere":            {fails, `no context "nowhere"; choose from: mine, prod`},
	} {
		var found findings
		found.checkCommand(t.Context(), terminal, hookLine+flags+" || exit 2")
		require.Contains(t, found, expected, flags)
	}
}

// withTokens returns a service with the tokens "coder" of an agent and "ada" of an admin.
func withTokens(t *testing.T) *httptest.Server {
	t.Helper()
	service := httptest.NewServer(tokens())
	t.Cleanup(service.Close)
	return service
}

func tokens() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch token := r.Header.Get("Authorization"); {
		case r.URL.Path == "/v1/keys":
			_, _ = io.WriteString(w, `{"keys":[]}`)
		case r.URL.Path == "/v1/me" && token == "Bearer coder":
			_, _ = io.WriteString(w, `{"principal":"agent:coder","role":"agent","groups":[],"via":"token"}`)
		case r.URL.Path == "/v1/me" && token == "Bearer ada":
			_, _ = io.WriteString(w, `{"principal":"user:ada","role":"admin","groups":[],"via":"token"}`)
		case r.URL.Path == "/v1/me":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":"invalid_token","detail":"it is not known"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
}

// An agent reads the tokens that its user's commands use.
func TestDoctorFindsTokensThatDecideInContexts(t *testing.T) {
	t.Parallel()
	service, elsewhere := withTokens(t), withTokens(t)
	path := filepath.Join(t.TempDir(), "contexts.json")
	text := func(server string) string {
		return `{"current":"agent","contexts":{"agent":{"server":"` + service.URL + `","token":"coder"},"mine":{"server":"` + server + `","token":"ada"},` +
			`"old":{"server":"` + service.URL + `","token":"gone"},"none":{"server":"` + service.URL + `"}}}`
	}
	found := func(contexts string, mode os.FileMode) (found findings) {
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.WriteFile(path, []byte(contexts), mode))
		terminal := &console.Console{Env: func(name string) (string, bool) {
			value, set := map[string]string{"HOLDPOINT_CONTEXTS": path, "HOLDPOINT_TOKEN": "coder"}[name]
			return value, set
		}}
		found.checkCommand(t.Context(), terminal, hookLine+" --server "+service.URL+" || exit 2")
		return found
	}
	decides := finding{open, `the context "mine" has the role admin, so an agent of this user can allow its own calls with it: run the agent as another user`}
	all := found(text(service.URL), 0o600)
	require.Contains(t, all, decides)
	require.Contains(t, all, finding{holds, "the agent's token has the role agent and cannot decide"})
	last := all[len(all)-1]
	require.Equal(t, unchecked, last.Verdict)
	require.Contains(t, last.Detail, `the context "old": `)
	require.NotContains(t, found(text(elsewhere.URL), 0o600), decides)
	if runtime.GOOS == "windows" {
		return // no other users
	}
	all = found(text(service.URL), 0o644)
	require.Contains(t, all[len(all)-1].Detail, "the contexts cannot be read, and may have a token that decides")
}

// A context without a CA of its own is called with the one that the hook uses.
func TestDoctorCallsContextsWithTheCAOfTheHook(t *testing.T) {
	t.Parallel()
	service := httptest.NewTLSServer(tokens())
	t.Cleanup(service.Close)
	directory := t.TempDir()
	contexts, ca := filepath.Join(directory, "contexts.json"), filepath.Join(directory, "ca.pem")
	require.NoError(t, os.WriteFile(contexts, []byte(`{"contexts":{"mine":{"server":"`+service.URL+`/","token":"ada"}}}`), 0o600))
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Certificate().Raw}), 0o600))
	terminal := &console.Console{Env: func(name string) (string, bool) {
		value, set := map[string]string{"HOLDPOINT_CONTEXTS": contexts, "HOLDPOINT_TOKEN": "coder", "HOLDPOINT_CA": ca}[name]
		return value, set
	}}
	var found findings
	found.checkCommand(t.Context(), terminal, hookLine+" --server "+service.URL+" || exit 2")
	last := found[len(found)-1]
	require.Equal(t, open, last.Verdict)
	require.Contains(t, last.Detail, `the context "mine" has the role admin`)
}

// Some agents start a hook in the directory of their session, and make the call when that fails: an agent that removes
// the directory, or renames it or one above it, has switched the hook off.
func TestDoctorSaysThatAFolderCanBeRemoved(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "app")
	for _, of := range codingAgents {
		var found findings
		found.checkFolder(&of, string(filepath.Separator))
		require.Empty(t, found, of.name)
		found.checkFolder(&of, folder)
		found.checkFolder(&of, filepath.Join(folder, "in", "it")) // folder is not there, so nobody can write it
		if of.name == "claude-code" || of.name == "copilot-cli" {
			require.Empty(t, found, of.name)
			continue
		}
		require.Len(t, found, 2, of.name)
		for _, one := range found {
			require.Equal(t, open, one.Verdict)
			require.Contains(t, one.Detail, "this user can remove or rename "+folder+",")
			require.Contains(t, one.Detail, of.name)
		}
	}
}

func TestSameServer(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		one, other string
		same       bool
	}{
		{"http://127.0.0.1:4000", "http://localhost:4000/", true},
		{"localhost:4000", "http://[::1]:4000", true},
		{"https://inbox.example", "https://inbox.example/", true},
		{"unix:/run/holdpoint", "unix:/run/holdpoint", true},
		{"http://127.0.0.1:4000", "http://127.0.0.1:4001", false},
		{"http://inbox.example", "https://inbox.example", false},
		{"https://inbox.example", "https://inbox.example.test", false},
		{"unix:/run/holdpoint", "unix:/run/other", false},
		{"%", "%", true},
	} {
		require.Equal(t, one.same, sameServer(one.one, one.other), "%s and %s", one.one, one.other)
	}
}
