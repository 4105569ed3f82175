package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/notify"
)

// observed keeps what metrics are told of calls.
type observed struct {
	mu    sync.Mutex
	texts []string
}

func (*observed) Began() {}

func (o *observed) Ended(method, route string, _ int, code api.Code, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.texts = append(o.texts, method+" "+route+" "+string(code))
}

// The secret of a link is in no log, no metric and no error, wherever in a path it stands, and whether the call is taken or not.
func TestTheSecretOfALinkIsNotLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	metrics := &observed{}
	server := httpapi.New(httpapi.Options{
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Observer: metrics, LogRequests: true, Notify: notify.New(notify.Options{}),
	})
	secret := auth.NewLinkSecret()
	secret = secret[:len(secret)-2] + "__" // is refused without a look at the store
	for _, call := range []struct {
		method, path, site string
		status             int
	}{
		{http.MethodGet, "/l/" + secret, "", http.StatusNotFound},
		{http.MethodHead, "/l/" + secret, "", http.StatusNotFound},
		{http.MethodPost, "/l/" + secret, "cross-site", http.StatusForbidden},
		{http.MethodPost, "/l/" + secret, "same-origin", http.StatusUnsupportedMediaType},
		{http.MethodPut, "/l/" + secret, "", http.StatusMethodNotAllowed},
		{http.MethodGet, "/l/%68plink" + secret[len("hplink"):], "", http.StatusNotFound},
		{http.MethodGet, "/L/" + secret, "", http.StatusNotFound},
		{http.MethodGet, "/l/" + secret + "/more", "", http.StatusNotFound},
		{http.MethodGet, "/v1/" + secret, "", http.StatusNotFound},
	} {
		request := httptest.NewRequestWithContext(t.Context(), call.method, "http://localhost"+call.path, http.NoBody)
		if call.site != "" {
			request.Header.Set("Sec-Fetch-Site", call.site)
		}
		reply := httptest.NewRecorder()
		server.Handler().ServeHTTP(reply, request)
		require.Equal(t, call.status, reply.Code, "%s %s", call.method, call.path)
		require.NotContains(t, reply.Body.String(), secret[7:20])
	}
	require.NotContains(t, log.String(), secret[7:20])
	require.Contains(t, log.String(), "path=/l/hplink_…")
	require.Len(t, metrics.texts, 9)
	require.Contains(t, metrics.texts, "GET /l/{secret} link_not_found")
	for _, text := range metrics.texts {
		require.NotContains(t, text, secret[7:20])
	}
}
