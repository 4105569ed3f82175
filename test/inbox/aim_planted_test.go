//go:build unix && browser && faults

package inbox

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheAimOfATestIsTrue plants defects in the page: each is found.
func TestTheAimOfATestIsTrue(t *testing.T) { //nolint:tparallel // one service, one person after the other
	t.Parallel()
	f := start(t)
	for _, defect := range []struct {
		name   string
		writes int
		edits  []edit
		phone  bool
	}{
		{"a finger meets the next prompt at once", 0, []edit{
			{"guard.js", "return inPlace(handle, now);", "return true;"},
			{"guard.js", "if (now < decidedAt + afterDecision || now < pageFocusUntil) return false;", ""},
			{"seen.js", "export const atEnd = 500;", "export const atEnd = 0;"},
		}, true},
		{"a settled prompt makes room for the next", 0, []edit{
			{"shown.js", "  if (!place.handle) {\n", "  if (!place.handle || inbox.prompts.get(place.handle)?.resolution) {\n"},
			{"guard.js", "return inPlace(handle, now);", "return true;"},
		}, false},
		{"a field vanishes and letters act as keys", 50, []edit{
			{"bar.js", `if (one.form === "deny") return`, `if (one.form === "deny" && !one.resolution) return`},
			{"guard.js", "export function dropsKey(event, active) {\n", "export function dropsKey(event, active) {\n  return false;\n"},
			{"shown.js", `rowOf(place.handle) ||`, `document.querySelector(".row:not(.settled)") ||`},
			{"shown.js", "  focusedByPage();\n", ""},
			{"guard.js", "return !event.repeat && now >= focusedAt + afterFocus;", "return !event.repeat;"},
		}, false},
	} {
		t.Run(defect.name, func(t *testing.T) {
			page := f.planted(t, defect.edits)
			var fault error
			// The layout and the browser's timing say which of a person's moves meet the defect.
			for seed := uint64(1); fault == nil && seed <= 4; seed++ {
				someone := f.someone(t, page, seed)
				someone.writes = defect.writes
				if defect.phone {
					someone.holdsPhone()
				}
				fault = someone.walk(1500)
				t.Logf("seed %d: %d moves, %d decisions", seed, someone.moves, someone.decided)
			}
			require.ErrorContains(t, fault, "was decided, but")
		})
	}
}

// edit is a change of one file of the page.
type edit struct{ file, from, to string }

// planted returns the address of the service with a changed page.
func (f *flows) planted(t *testing.T, edits []edit) string {
	t.Helper()
	service, err := url.Parse(f.service.URL())
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(service)
			r.Out.Header.Del("Origin")
			r.Out.Header.Del("Accept-Encoding")
			r.Out.Header.Del("If-None-Match")
		},
		ModifyResponse: func(response *http.Response) error {
			for _, change := range edits {
				if path.Base(response.Request.URL.Path) != change.file {
					continue
				}
				text, err := io.ReadAll(response.Body)
				if err != nil {
					return err
				}
				if bytes.Count(text, []byte(change.from)) != 1 {
					return fmt.Errorf("%s does not have %q once", change.file, change.from)
				}
				text = bytes.Replace(text, []byte(change.from), []byte(change.to), 1)
				response.Body = io.NopCloser(bytes.NewReader(text))
				response.ContentLength = int64(len(text))
				response.Header.Set("Content-Length", strconv.Itoa(len(text)))
				response.Header.Del("ETag")
			}
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}
