package overhttp

import (
	"context"
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
