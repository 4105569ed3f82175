package mcptools_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools"
)

// absentOnce answers its first call as a proxy without a backend does, or a server at a wrong URL.
type absentOnce struct{ asked bool }

func (a *absentOnce) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.asked {
		return http.DefaultTransport.RoundTrip(request)
	}
	a.asked = true
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(http.StatusNotFound)
	return recorder.Result(), nil
}

// A look at a run that this process did not raise fails at once at a wrong URL.
func TestALookFailsAtAWrongURL(t *testing.T) {
	s := newScene(t)
	open := s.told(s.agent(), "request_approval", `{"tool_name":"deploy","input":{},"wait_seconds":0}`)
	through := s.service.Connect(client.WithHTTPClient(&http.Client{Transport: &absentOnce{}}), client.WithoutMultiplexing())
	agent := s.connect(mcptools.Options{For: mcptools.ForAgents, Client: through})
	require.Contains(t, s.refused(agent, "check_decision", `{"run_id":"`+open.RunID+`","wait_seconds":1}`), "404")
	require.Equal(t, "pending", s.told(agent, "check_decision", `{"run_id":"`+open.RunID+`","wait_seconds":0}`).Status)
}
