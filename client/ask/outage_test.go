package ask_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
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

// A proxy without a backend says nothing about the request, except before the first reply, when the
// URL may be wrong.
func TestAWaitOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	run := func(status api.Status) string {
		return `{"run_id":"call-1","status":"` + string(status) + `","metadata":{"made_by":"holdpoint agent call"}}`
	}
	waiting, cancelled := run(api.StatusWaitingForApproval), run(api.StatusCancelled)
	for name, test := range map[string]struct {
		replies []string
		raised  bool // by this process
		ended   api.Status
		err     error
	}{
		"after a reply": {replies: []string{waiting, "404", "500", waiting, "404", cancelled}, ended: api.StatusCancelled},
		"at first":      {replies: []string{"404", cancelled}, err: client.ErrNotFound},
		"just raised":   {raised: true, replies: []string{"404", "500", cancelled}, ended: api.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				proxy := func(w http.ResponseWriter, r *http.Request) {
					reply := "[]"
					if !strings.HasSuffix(r.URL.Path, "/events") {
						reply, test.replies = test.replies[0], test.replies[1:]
					}
					switch reply {
					case "404":
						w.WriteHeader(http.StatusNotFound)
					case "500":
						w.WriteHeader(http.StatusInternalServerError)
					default:
						_, _ = io.WriteString(w, reply)
					}
				}
				c, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: inProcess{proxy}}))
				require.NoError(t, err)
				await := (&ask.Asker{Client: c}).Await
				if test.raised {
					await = (&ask.Asker{Client: c}).AwaitRaised
				}
				answer, err := await(t.Context(), "call-1", -1)
				require.ErrorIs(t, err, test.err)
				if test.err == nil {
					require.Equal(t, test.ended, answer.Ended)
				}
			})
		})
	}
}
