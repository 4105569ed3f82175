package gate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// TestAGrantOutlivesAnOutage: the lease lapses while the service is away between the start record and
// the redemption. It is renewed, because nobody else has claimed the run.
func TestAGrantOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	var calls []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
		reply := `{"expires_at_ms":1,"cancel_requested":false}`
		switch {
		case calls[len(calls)-1] == "redeem" && !slices.Contains(calls, "heartbeat"):
			w.WriteHeader(http.StatusConflict)
			reply = `{"code":"grant_expired"}`
		case calls[len(calls)-1] == "redeem":
			reply = `{"run_id":"r","request_id":"a","jti":"j"}`
		}
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(service.Close)
	opened, err := client.New(service.URL, client.WithoutMultiplexing())
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	e := &execution{gate: gate{Client: opened, terminal: &console.Console{Stderr: io.Discard}, lease: 10 * time.Second, params: client.CreateRunParams{RunID: "r"}}}
	settled := api.SettledApproval{Request: api.ApprovalRequest{Input: api.JSON("1")}, Resolution: api.Resolution{Grant: &api.Grant{JWS: "x"}}}
	require.NoError(t, e.redeem(t.Context(), "1", startRecord{AttemptID: "attempt"}, settled))
	require.Equal(t, []string{"redeem", "heartbeat", "redeem"}, calls)
}
