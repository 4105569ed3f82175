//go:build unix && agents

package sdk

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// TestALongAppendIsSeveralCalls appends more than one call takes with each library, through a proxy
// that loses the first reply to each call: every event is in the log once, in order.
func TestALongAppendIsSeveralCalls(t *testing.T) { //nolint:tparallel // the processes of one suite are enough at a time
	const count = 2*api.MaxEventsPerCall + 1
	for library, begin := range libraries {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			people := service.ConnectPatiently()
			target, err := url.Parse(service.URL())
			require.NoError(t, err)
			proxy := httputil.NewSingleHostReverseProxy(target)
			var calls atomic.Int64
			losing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Header.Get("Upgrade") != "": // so that each call is a request
					w.WriteHeader(http.StatusNotImplemented)
				case strings.HasSuffix(r.URL.Path, "/events") && calls.Add(1)%2 == 1:
					proxy.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				default:
					proxy.ServeHTTP(w, r)
				}
			}))
			t.Cleanup(losing.Close)
			made, err := people.CreateRun(t.Context(), client.CreateRunParams{RunID: "long", Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}})
			require.NoError(t, err)
			var events []map[string]any
			var texts []string
			for n := range count {
				events = append(events, map[string]any{"type": "step", "text": fmt.Sprintf("é%d", n)})
				texts = append(texts, fmt.Sprintf(`{"text":"é%d","type":"step"}`, n))
			}
			// The last call has a single event, which is beyond the bytes of the call before.
			events = append(events, map[string]any{"type": "large", "text": strings.Repeat("é", api.MaxEventBytesPerCall/2-20)})
			s := &scene{T: t, driver: begin(t, losing.URL), service: service}
			done := s.await("emit", s.begin(step{"do": "emit", "run": "long", "fence": made.Claim.Lease.Fence, "events": events}))
			require.Nil(t, done.Refused)
			require.EqualValues(t, 2*4, calls.Load())
			var logged []string
			last := ""
			for entry, err := range people.AllRunEvents(t.Context(), "long", client.EventListParams{}) {
				require.NoError(t, err)
				if strings.Contains(string(entry.Event), `"step"`) {
					logged = append(logged, string(entry.Event))
				}
				last = entry.ID
			}
			require.Equal(t, texts, logged)
			require.Equal(t, last, done.Result)
		})
	}
}
