package operate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// replying is a transport with these replies, in order.
type replying []func(http.ResponseWriter)

func (r *replying) RoundTrip(*http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	(*r)[0](recorder)
	*r = (*r)[1:]
	return recorder.Result(), nil
}

// A proxy without a backend says nothing about the run of a decision that the service has accepted.
func TestWaitOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replies := &replying{
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"run_id":"r","status":"completed"}`) },
		}
		opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: replies}), client.WithoutMultiplexing())
		require.NoError(t, err)
		run, err := following{Wait: true}.follow(t.Context(), opened, &api.RunView{RunID: "r", Status: api.StatusRunning})
		require.NoError(t, err)
		require.Equal(t, api.StatusCompleted, run.Status)
	})
}
