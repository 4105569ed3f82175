package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// TestEventsWhoseReplyIsLostAreAppendedOnce drops every other reply to an append.
func TestEventsWhoseReplyIsLostAreAppendedOnce(t *testing.T) {
	t.Parallel()
	url, stop, err := serve()
	require.NoError(t, err)
	calls, keys := 0, map[string]bool{}
	losing := roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/events") || r.Method != http.MethodPost {
			return http.DefaultTransport.RoundTrip(r)
		}
		calls++
		keys[r.Header.Get("Idempotency-Key")] = true
		reply, err := http.DefaultTransport.RoundTrip(r)
		if calls%2 == 0 || err != nil {
			return reply, err
		}
		return nil, errors.Join(errors.New("connection reset"), reply.Body.Close())
	})
	c, err := client.New(url, client.WithHTTPClient(&http.Client{Transport: losing}))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		require.NoError(t, stop())
	})
	made := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}}))(t)
	runID := made.RunID
	var last string
	for range 3 {
		last = must(c.AppendEvents(t.Context(), runID, made.Claim.Lease.Fence, []api.JSON{api.JSON(`{"type":"step"}`), api.JSON(`{"type":"output","content":"x"}`)}))(t)
	}
	require.Equal(t, 6, calls)
	require.Len(t, keys, 3, "each call has a key of its own")
	events := must(c.ListRunEvents(t.Context(), runID, client.EventListParams{}))(t)
	require.Len(t, events, 2+3*2)
	require.Equal(t, last, events[len(events)-1].ID)
}
