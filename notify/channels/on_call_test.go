package channels

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// onCallServer answers with a text that a test sets.
type onCallServer struct {
	answer func(http.ResponseWriter, *http.Request)
	asked  atomic.Int64
}

func (s *onCallServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	s.answer(w, r)
}

func says(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func newSource(t *testing.T, guard egress.Guard) (*source, *onCallServer, *time.Time) {
	t.Helper()
	server := &onCallServer{}
	served := httptest.NewServer(server)
	t.Cleanup(served.Close)
	path := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "token"), []byte("s3cret\n"), 0o600))
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil,
		"oncall: {payments: {url: %q, headers: {Authorization: \"Bearer {{.Secret.token}}\"}, secret_files: {token: token}}}", served.URL+"/now"), 0o600))
	client := egress.New(egress.Options{Guard: guard})
	t.Cleanup(client.Close)
	settings, sources, err := Escalations(path, client)
	require.NoError(t, err)
	require.True(t, settings.HasOnCall("payments"))
	require.False(t, settings.HasOnCall("other"))
	made, is := sources["payments"].(*source)
	require.True(t, is)
	now := time.UnixMilli(1_000_000)
	made.now = func() time.Time { return now }
	return made, server, &now
}

var toLoopback = egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// An answer counts until its time, at most 15 minutes. After a failure the last one counts, and the source
// is left alone for a while.
func TestAnOnCallSourceIsRemembered(t *testing.T) {
	t.Parallel()
	source, server, now := newSource(t, toLoopback)
	people := func(asked int64, want ...string) error {
		t.Helper()
		got, err := source.People(t.Context())
		require.Equal(t, want, got)
		require.Equal(t, asked, server.asked.Load())
		return err
	}
	server.answer = func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, []string{http.MethodGet, "/now", "Bearer s3cret", ""}, []string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key")})
		fmt.Fprint(w, `{"people": ["user:ada", "user:ben"], "until_ms": 1060000, "shift": {}}`)
	}
	require.NoError(t, people(1, "user:ada", "user:ben"))
	*now = now.Add(59 * time.Second)
	require.NoError(t, people(1, "user:ada", "user:ben"))
	*now = now.Add(time.Second)
	server.answer = says(`{"people": ["user:carol"], "until_ms": 9000000000000}`)
	require.NoError(t, people(2, "user:carol"))
	*now = now.Add(onCallKept)
	server.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	require.EqualError(t, people(3, "user:carol"), "status 503")
	require.EqualError(t, people(3, "user:carol"), "status 503", "it is not asked again at once")
	*now = now.Add(onCallRetry)
	server.answer = says(`{"people": []}`)
	require.NoError(t, people(4, []string{}...))
	*now = now.Add(onCallKept)
	server.answer = says(`{"people": ["user:ada"], "until_ms": 1}`)
	require.NoError(t, people(5, "user:ada"))
	require.NoError(t, people(5, "user:ada"), "an answer that has expired counts for this step")
	*now = now.Add(onCallLeast)
	require.NoError(t, people(6, "user:ada"))
}

// Whatever a source answers, it names only people, within bounds.
func TestAnOnCallSourceIsNotTrusted(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`"user:a",`, 33), ",")
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"no JSON":      {says(`<html>`), "the answer is not"},
		"another type": {says(`{"people": "user:ada"}`), "the answer is not"},
		"no people":    {says(`{}`), "the answer is not"},
		"an error":     {says(`{"error": "maintenance"}`), "the answer is not"},
		"no list":      {says(`{"people": null}`), "the answer is not"},
		"null":         {says(`null`), "the answer is not"},
		"a role":       {says(`{"people": ["role:admin"]}`), "not user:NAME"},
		"another list": {says(`{"people": ["oncall:payments"]}`), "not user:NAME"},
		"no name":      {says(`{"people": ["user: "]}`), "not user:NAME"},
		"a long name":  {says(`{"people": ["user:` + strings.Repeat("a", 300) + `"]}`), "not user:NAME"},
		"a line break": {says(`{"people": ["user:a\nb"]}`), "not user:NAME"},
		"many":         {says(`{"people": [` + many + `]}`), "more than 32 people"},
		"too long":     {says(`{"people": [], "x": "` + strings.Repeat("a", maxOnCallBytes) + `"}`), "longer than 65536 bytes"},
		"a redirect":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "status 302"},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"people": ["user:ada"]`)
		}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, server, _ := newSource(t, toLoopback)
			server.answer = c.answer
			people, err := source.People(t.Context())
			require.ErrorContains(t, err, c.want)
			require.Empty(t, people)
		})
	}
	source, server, _ := newSource(t, egress.Guard{})
	server.answer = says(`{"people": ["user:ada"]}`)
	_, err := source.People(t.Context())
	require.ErrorContains(t, err, "--webhook-allow")
	require.Zero(t, server.asked.Load())
}

// A source that hangs is given up, and costs the next callers nothing.
func TestAnOnCallSourceThatHangs(t *testing.T) {
	t.Parallel()
	source, server, _ := newSource(t, toLoopback)
	source.timeout = time.Millisecond
	server.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for range 3 {
		_, err := source.People(t.Context())
		require.Error(t, err)
	}
	require.LessOrEqual(t, server.asked.Load(), int64(1))
}
