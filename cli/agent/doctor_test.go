package agent

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
)

// The doctor judges the token that the hook uses: the one of the context or the file that its command names.
func TestDoctorTakesTheTokenFromTheCommand(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/keys":
			_, _ = io.WriteString(w, `{"keys":[]}`)
		case r.URL.Path == "/v1/me" && r.Header.Get("Authorization") == "Bearer coder":
			_, _ = io.WriteString(w, `{"principal":"agent:coder","role":"agent","groups":[],"via":"token"}`)
		case r.URL.Path == "/v1/me":
			_, _ = io.WriteString(w, `{"principal":"user:ada","role":"admin","groups":[],"via":"token"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(service.Close)
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
