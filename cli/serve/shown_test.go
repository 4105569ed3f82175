package serve

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every view of a request shows the members of its input besides the command, or says that
// there are more.
func TestNoViewHidesAMember(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	made := w.post("/v1/runs", `{"run_id":"more","session_id":"s","agent_id":"default","input":{},"suspend":{"approvals":[{"id":"a","tool_call_id":"c",
		"tool_name":"bash","input":{"command":"ls","then":"rm -rf /data"},"reason":"look around","description":"ls","metadata":{"details":{"command":"ls"}}}]}}`)
	handle := first(t, `"handle":"([^"]+)"`, made)
	hidden := regexp.MustCompile(`\\?"then\\?": ?\\?"rm -rf /data\\?"`)
	for _, path := range []string{
		"/v1/approvals", "/v1/approvals?fields=summary", "/v1/sessions/s/approvals", "/v1/runs/more", "/v1/sessions/s", "/v1/requests/" + handle,
		"/v1/runs/more/events", "/v1/sessions/s/events", "/v1/stream", "/v1/sessions/s/stream", "/v1/runs/more/stream",
		"/api/approval/pending?session_id=s", "/api/approval/stream?session_id=s", "/api/sessions/s/approvals", "/api/sessions/s/transcript",
		"/runs/more/events", "/agents/default/runs/more/events",
		"/kheish/v1/sessions/s", "/kheish/v1/runs/more", "/kheish/v1/sessions/s/events", "/kheish/v1/sessions/s/stream",
	} {
		answer := w.call(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, answer.Code, path)
		if path == "/v1/runs/more/stream" || path == "/v1/sessions/s/stream" || path == "/v1/stream" {
			require.NotEmpty(t, answer.Body.String(), path)
		}
		require.Regexp(t, hidden, answer.Body.String(), path)
	}
	// A summary is cut, and says so with the size of the whole.
	long := `{"command":"ls","padding":"` + strings.Repeat("x", 20_000) + `","then":"rm -rf /data"}`
	w.post("/v1/runs", `{"run_id":"long","session_id":"l","agent_id":"default","input":{},"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":`+long+`}]}}`)
	require.Regexp(t, `"input_truncated":true,"input_bytes":20\d+`, w.call(http.MethodGet, "/v1/sessions/l/approvals?fields=summary", "").Body.String())
	for _, path := range []string{"/v1/sessions/l/approvals", "/v1/runs/long", "/api/approval/pending?session_id=l", "/api/sessions/l/approvals", "/runs/long/events"} {
		require.Regexp(t, hidden, w.call(http.MethodGet, path, "").Body.String(), path)
	}
}
