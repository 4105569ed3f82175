package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// appending is a client of a real service that loses every other reply to an append.
type appending struct {
	*client.Client
	runID, fence string
	// calls are the sent appends, and keys their idempotency keys.
	calls int
	keys  map[string]bool
}

func beginAppending(t *testing.T) *appending {
	t.Helper()
	url, stop, err := serve()
	require.NoError(t, err)
	a := &appending{keys: map[string]bool{}}
	losing := roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/events") || r.Method != http.MethodPost {
			return http.DefaultTransport.RoundTrip(r)
		}
		a.calls++
		a.keys[r.Header.Get("Idempotency-Key")] = true
		reply, err := http.DefaultTransport.RoundTrip(r)
		if a.calls%2 == 0 || err != nil {
			return reply, err
		}
		return nil, errors.Join(errors.New("connection reset"), reply.Body.Close())
	})
	a.Client, err = client.New(url, client.WithHTTPClient(&http.Client{Transport: losing}), client.WithRetry(client.RetryPolicy{BaseDelay: time.Microsecond}))
	require.NoError(t, err)
	t.Cleanup(func() {
		a.Close()
		require.NoError(t, stop())
	})
	made := must(a.CreateRun(t.Context(), client.CreateRunParams{Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}}))(t)
	a.runID, a.fence = made.RunID, made.Claim.Lease.Fence
	return a
}

// logged returns the appended events in the run's log, and the id of the last event.
func (a *appending) logged(t *testing.T) (events []string, last string) {
	t.Helper()
	for entry, err := range a.AllRunEvents(t.Context(), a.runID, client.EventListParams{}) {
		require.NoError(t, err)
		events, last = append(events, string(entry.Event)), entry.ID
	}
	return events[2:], last
}

func numberedEvents(count, bytes int) (events []api.JSON, texts []string) {
	for n := range count {
		texts = append(texts, fmt.Sprintf(`{"type":"step","n":%d,"text":"%s"}`, n, strings.Repeat("x", bytes)))
		events = append(events, api.JSON(texts[n]))
	}
	return events, texts
}

func TestEventsWhoseReplyIsLostAreAppendedOnce(t *testing.T) {
	t.Parallel()
	a := beginAppending(t)
	var last string
	for range 3 {
		last = must(a.AppendEvents(t.Context(), a.runID, a.fence, []api.JSON{api.JSON(`{"type":"step"}`), api.JSON(`{"type":"output","content":"x"}`)}))(t)
	}
	require.Equal(t, 6, a.calls)
	require.Len(t, a.keys, 3, "each call has a key of its own")
	events, newest := a.logged(t)
	require.Len(t, events, 3*2)
	require.Equal(t, last, newest)
}

// TestALongAppendIsSeveralCalls appends more than one call takes. Every event is in the log once, in
// order, even if the reply of each call is lost and the whole append is repeated.
func TestALongAppendIsSeveralCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ count, bytes, calls int }{
		"as many as one call takes": {api.MaxEventsPerCall, 0, 1},
		"one more":                  {api.MaxEventsPerCall + 1, 0, 2},
		"many":                      {3*api.MaxEventsPerCall - 1, 10, 3},
		"large":                     {7, 200_000, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := beginAppending(t)
			events, texts := numberedEvents(test.count, test.bytes)
			last := must(a.AppendEventsWithKey(t.Context(), a.runID, a.fence, "the key", events))(t)
			require.Equal(t, 2*test.calls, a.calls)
			require.Len(t, a.keys, test.calls)
			require.Equal(t, test.calls == 1, a.keys["the key"])
			again := must(a.AppendEventsWithKey(t.Context(), a.runID, a.fence, "the key", events))(t)
			require.Equal(t, last, again)
			logged, newest := a.logged(t)
			require.Equal(t, texts, logged)
			require.Equal(t, last, newest)
		})
	}
}

// TestAnEventAboveTheLimitIsRefused shows what remains of the calls before it.
func TestAnEventAboveTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	a := beginAppending(t)
	small, texts := numberedEvents(2, 0)
	large, _ := numberedEvents(1, api.MaxEventBytesPerCall)
	_, err := a.AppendEvents(t.Context(), a.runID, a.fence, []api.JSON{small[0], large[0], small[1]})
	require.ErrorIs(t, err, client.ErrInvalid)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, api.CodeAppendTooLarge, refused.Code)
	logged, _ := a.logged(t)
	require.Equal(t, texts[:1], logged)
}
