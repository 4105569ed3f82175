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

// The limit is about the message that the client sent: with the texts of its forms it may be larger, so that an answer
// keeps its digits. One byte more is refused.
func TestAFilledFormWithinTheLimitKeepsItsDigits(t *testing.T) {
	t.Parallel()
	const message = `{"params":{"inputResponses":{"h":{"action":"accept","content":{"x":0.1234567890123456789}}}}}`
	passed := func(limit int64) (string, error) {
		var read []byte
		var failed error
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { read, failed = io.ReadAll(r.Body) })
		exactly(next, limit).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(message)))
		return string(read), failed
	}
	exact, err := passed(int64(len(message)))
	require.NoError(t, err)
	require.Contains(t, exact, `"holdpoint.dev/content-text":"{\"x\":0.1234567890123456789}"`)
	_, err = passed(int64(len(message)) - 1)
	require.ErrorAs(t, err, new(*http.MaxBytesError))
}
