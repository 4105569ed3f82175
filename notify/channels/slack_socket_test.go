package channels

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// A Slack whose connections end at once is not called all the time. Messages do not wait for connections.
func TestConnectionsToSlackHaveAPace(t *testing.T) {
	t.Parallel()
	var opens, others atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/"+openMethod {
			opens.Add(1)
		} else {
			others.Add(1)
		}
		_, _ = fmt.Fprint(w, `{"ok":true,"url":"ws://127.0.0.1:1/"}`) // the test has ended
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	for _, token := range []string{"xapp", "xoxb"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, token), []byte(token+"-1"), 0o600))
	}
	caller := egress.New(egress.Options{Guard: egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(caller.Close)
	s, err := (&channel{Kind: api.ChannelSlack, AppTokenFile: "xapp", BotTokenFile: "xoxb", APIURL: server.URL + "/"}).slack(folder, caller)
	require.NoError(t, err)
	require.InDelta(t, 0.1, float64(s.opens.Limit()), 1e-9, "one connection in ten seconds")
	s.opens.SetLimit(0) // no time passes
	for range reconnectsAtOnce {
		_, _, err := s.client.StartSocketModeContext(t.Context())
		require.NoError(t, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, _, err = s.client.StartSocketModeContext(soon)
	require.Error(t, err)
	require.EqualValues(t, reconnectsAtOnce, opens.Load())
	_, err = s.client.AuthTestContext(soon)
	require.NoError(t, err)
	require.EqualValues(t, 1, others.Load())
}
