package wire_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

func TestALongReplyWaitsForItsTurnAndAShortOneDoesNot(t *testing.T) {
	t.Parallel()
	var ends []func()
	for range max(runtime.GOMAXPROCS(0)/2, 1) {
		end, err := cpulimit.Begin(t.Context())
		require.NoError(t, err)
		ends = append(ends, end)
	}
	answer := func(ctx context.Context, length int) *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/runs/r/events", nil)
		require.NoError(t, wire.Respond(recorder, request, http.StatusOK, strings.Repeat("x", length)))
		return recorder
	}
	require.Equal(t, http.StatusOK, answer(t.Context(), cpulimit.Bytes-1000).Code)

	gone, leave := context.WithCancel(t.Context())
	leave()
	refused := answer(gone, cpulimit.Bytes)
	require.Equal(t, http.StatusServiceUnavailable, refused.Code, "nobody waits for it any more")
	require.Contains(t, refused.Body.String(), `"service_unavailable"`)

	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- answer(t.Context(), 3*cpulimit.Bytes) }()
	for _, end := range ends {
		end()
	}
	long := <-answered
	require.Equal(t, http.StatusOK, long.Code)
	require.Equal(t, 3*cpulimit.Bytes+len("\"\"\n"), long.Body.Len())

	for range 3 * len(ends) {
		require.Equal(t, http.StatusOK, answer(t.Context(), cpulimit.Bytes).Code, "every turn came back")
	}
}
