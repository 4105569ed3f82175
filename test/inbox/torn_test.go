//go:build unix && browser

package inbox

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// torn loses replies as a browser does when its network changes: first of scripts, then of the
// page's reads. During an upgrade, scripts of the page's version are missing at another replica.
func (f *flows) torn(t *testing.T) {
	target, err := url.Parse(f.service.URL())
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	const lost = 4 // a browser retries on its own if the connection was used before
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "words.js" && asked.Add(1) <= lost {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	p := openPage(t, f.browser, proxy.URL, "/")
	p.find("heading", "Inbox")
	require.Greater(t, asked.Load(), int64(lost))
	require.Equal(t, "null", p.eval(`String(history.state)`))

	p.eval(`(() => {
		const real = fetch;
		let left = 1;
		globalThis.fetch = (to, ...more) => String(to).startsWith("/v1/decisions") && left-- > 0 ? Promise.reject(new TypeError("Failed to fetch")) : real(to, ...more);
		return "";
	})()`)
	p.find("link", "History").click()
	p.until("decisions, or none", func() bool {
		return p.read(`document.querySelector(".day") ? "yes" : ""`) == "yes" || strings.Contains(p.shown(), "Nothing has been decided yet.")
	})

	versioned := regexp.MustCompile(`^/assets/[0-9a-f]{16}/`)
	var documents atomic.Int64
	replicas := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			documents.Add(1)
		}
		if versioned.MatchString(r.URL.Path) && documents.Load() == 1 {
			http.NotFound(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(replicas.Close)
	p = openPage(t, f.browser, replicas.URL, "/")
	p.find("heading", "Inbox")
	require.Greater(t, documents.Load(), int64(1))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complaints = nil // the browser's, of the missing style sheet
}
