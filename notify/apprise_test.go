package notify_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// appriseServer takes what an Apprise API server takes at /notify, and sends it with the program apprise.
func appriseServer(t *testing.T) string {
	t.Helper()
	program := rig.Need(t, "apprise")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			URLs  string `json:"urls"`
			Title string `json:"title"`
			Body  string `json:"body"`
		}
		if !assert.Equal(t, "/notify", r.URL.Path) || !assert.NoError(t, json.NewDecoder(r.Body).Decode(&body)) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		//nolint:gosec // the test wrote the arguments
		if said, err := exec.CommandContext(r.Context(), program, "--title", body.Title, "--body", body.Body, body.URLs).CombinedOutput(); err != nil {
			t.Logf("apprise: %v\n%s", err, said)
			w.WriteHeader(http.StatusFailedDependency)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The recipe of docs/http-messages.md: the address of a person is the URL of a service that Apprise knows.
func TestAppriseSendsOn(t *testing.T) {
	t.Parallel()
	came := &inbox{done: make(chan struct{})}
	phone := httptest.NewServer(came)
	t.Cleanup(phone.Close)
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
channels:
  apprise:
    kind: http
    url: %s/notify
    headers: {Content-Type: application/json}
    body: '{"urls": {{json .Address}}, "title": {{json .Subject}}, "body": {{json .Text}}}'
`, appriseServer(t)), 0o600))
	caller := egress.New(egress.Options{Guard: loopback})
	t.Cleanup(caller.Close)
	loaded, err := channels.Load(file, caller)
	require.NoError(t, err)
	s := start(t, inprocess.Memory, time.Second, false, func(o *inprocess.Options) { o.Channels = loaded })
	s.verified(t, s.client, "apprise", "json://"+strings.TrimPrefix(phone.URL, "http://")+"/ada", came)
	raise(t, s.client, "s", "a")
	eventually(t, "the message", func() bool { return len(came.about("Agent coder")) == 1 })
	message := came.about("Agent coder")[0]
	require.Contains(t, message, "https://holdpoint.example/")
	require.NotContains(t, message, "{{")
}
