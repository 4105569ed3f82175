package kheish_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/kheish"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

// Decoded, a page takes up to fifty times its size, so only a few are decoded at one time.
//
// Not parallel: [cpulimit.Began] counts the work of the whole process.
//
//nolint:paralleltest // see above
func TestLargePagesAreDecodedInSlots(t *testing.T) {
	large := `{"input":[1` + strings.Repeat(",1", 100_000) + `]}`
	run := `{"run_id":"r","pending_approvals":[` + large + `],"outputs":[{"content":"x","parts":[]}]}`
	list := `[{"id":"7","run_id":"r","event":{"type":"waiting_for_approval","approvals":[` + large + `]}}]`
	const frame = "id: 1.0123456789abcdef\nevent: started\ndata: {\"run_id\":\"r\",\"event\":{\"type\":\"started\"}}\n\n"
	face := kheish.Face(nil).Over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/runs/r/events":
			_, _ = io.WriteString(w, list)
		case "/v1/runs/r/stream":
			_, _ = io.WriteString(w, frame)
			_ = http.NewResponseController(w).Flush()
		default:
			_, _ = io.WriteString(w, run)
		}
	}))
	for _, path := range []string{"/kheish/v1/runs/r", "/kheish/v1/runs/r/events", "/kheish/v1/runs/r/stream"} {
		before, reply := cpulimit.Began(), httptest.NewRecorder()
		face.ServeHTTP(reply, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, before+1, cpulimit.Began(), path)
		require.Contains(t, reply.Body.String(), large, path)
		require.NotContains(t, reply.Body.String(), "parts", path)
	}
}
