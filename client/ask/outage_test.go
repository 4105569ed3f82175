package ask_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
)

// inProcess calls a handler in the caller's goroutine.
type inProcess struct{ handler http.HandlerFunc }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	p.handler(recorder, r)
	return recorder.Result(), nil
}

// A wait asks no sooner than the service says, and not longer than it may.
func TestAWaitHeedsALongRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		patience, wait, waited time.Duration
		calls                  int
	}{
		"until its end":      {patience: time.Hour, wait: 5 * time.Minute, waited: 5 * time.Minute, calls: 4},
		"until its patience": {patience: 3 * time.Minute, wait: -1, waited: 3 * time.Minute, calls: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				busy := func(w http.ResponseWriter, _ *http.Request) {
					calls++
					w.Header().Set("Retry-After", "120")
					w.WriteHeader(http.StatusTooManyRequests)
				}
				c, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: inProcess{busy}}))
				require.NoError(t, err)
				asker := &ask.Asker{Client: c, Patience: test.patience}
				began := time.Now()
				_, err = asker.Await(t.Context(), "call-1", test.wait)
				require.ErrorIs(t, err, client.ErrRateLimited)
				require.InDelta(t, test.waited, time.Since(began), float64(time.Second))
				require.InDelta(t, test.calls, calls, 1)
			})
		})
	}
}
