package overhttp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

// A large message waits for a slot before it is read, a small one does not.
func TestALargeMessageIsReadInASlot(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	post := func(bytes int) int {
		message := strings.NewReader(`{"x":"` + strings.Repeat("x", bytes) + `"}`)
		reply := httptest.NewRecorder()
		exactly(next, 1<<20).ServeHTTP(reply, httptest.NewRequestWithContext(gone, http.MethodPost, "/mcp", message))
		return reply.Code
	}
	require.Equal(t, http.StatusAccepted, post(1))
	require.Equal(t, http.StatusServiceUnavailable, post(cpulimit.Bytes))
}

// A message within the limit is passed on within the limit, if need be without the texts of its forms.
func TestAFilledFormStaysWithinTheLimit(t *testing.T) {
	t.Parallel()
	const message = `{"params":{"inputResponses":{"h":{"action":"accept","content":{"n":7}}}}}`
	passed := func(limit int64) string {
		var read []byte
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var err error
			read, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
			require.NoError(t, err)
		})
		exactly(next, limit).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(message)))
		return string(read)
	}
	require.Contains(t, passed(1<<20), `"holdpoint.dev/content-text":"{\"n\":7}"`)
	require.Equal(t, message, passed(int64(len(message))))
}
