package web_test

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/web"
)

const (
	browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	fetchAccept   = "*/*"
	// loader loads the page again if another script is missing.
	loader = "/assets/again.js"
)

func ask(t *testing.T, method, path, accept string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	site, err := web.New()
	require.NoError(t, err)
	request := httptest.NewRequest(method, path, http.NoBody)
	request.Header.Set("Accept", accept)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	reply := httptest.NewRecorder()
	site.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(reply, request)
	return reply
}

func TestWhatIsAPage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path, accept string
		page                 bool
	}{
		{"GET", "/", browserAccept, true},
		{"GET", "/", fetchAccept, true},
		{"HEAD", "/", "", true},
		{"POST", "/", browserAccept, false},
		{"GET", "/runs/run_01", browserAccept, true},
		{"GET", "/runs/run_01", fetchAccept, false},
		{"GET", "/runs/run_01", "application/json", false},
		{"GET", "/runs/run_01", "application/json, text/html", false},
		{"GET", "/runs/run_01", "text/event-stream", false},
		{"GET", "/runs/run_01", "", false},
		{"POST", "/runs/run_01", browserAccept, false},
		{"GET", "/runs", browserAccept, false},
		{"GET", "/runs/", browserAccept, false},
		{"GET", "/runs/a/b", browserAccept, false},
		{"GET", "/sessions/s", "TEXT/HTML;q=0.5", true},
		{"GET", "/history", browserAccept, true},
		{"GET", "/history/x", browserAccept, false},
		{"GET", "/settings", fetchAccept, false},
		{"GET", "/v1/runs", browserAccept, false},
		{"GET", "/livez", browserAccept, false},
		{"GET", "/assets/", browserAccept, false},
		{"GET", "/assets/../web.go", browserAccept, false},
	} {
		got := ask(t, test.method, test.path, test.accept)
		want := http.StatusTeapot
		if test.page {
			want = http.StatusOK
		}
		require.Equal(t, want, got.Code, "%s %s %s", test.method, test.path, test.accept)
	}
}

func TestAnAddressWhereNothingIs(t *testing.T) {
	t.Parallel()
	site, err := web.New()
	require.NoError(t, err)
	for _, test := range []struct {
		method, path, accept string
		page                 bool
	}{
		{"GET", "/nonsense", browserAccept, true},
		{"HEAD", "/history/x", browserAccept, true},
		{"GET", "/v1x", browserAccept, true},
		{"POST", "/nonsense", browserAccept, false},
		{"GET", "/nonsense", fetchAccept, false},
		{"GET", "/nonsense", "application/json", false},
		{"GET", "/nonsense", "", false},
		{"GET", "/v1", browserAccept, false},
		{"GET", "/v1/nonsense", browserAccept, false},
	} {
		request, reply := httptest.NewRequest(test.method, test.path, http.NoBody), httptest.NewRecorder()
		request.Header.Set("Accept", test.accept)
		require.Equal(t, test.page, site.Missing(reply, request), "%s %s %s", test.method, test.path, test.accept)
		if test.page {
			require.Equal(t, http.StatusNotFound, reply.Code)
			require.Contains(t, reply.Header().Get("Content-Security-Policy"), "default-src 'none'")
			require.Contains(t, reply.Body.String(), `id="app"`)
		} else {
			require.Empty(t, reply.Header())
		}
	}
}

func TestTheWorkerKeepsThePageAndNothingElse(t *testing.T) {
	t.Parallel()
	worker := ask(t, "GET", "/sw.js", fetchAccept)
	require.Equal(t, "no-cache", worker.Header().Get("Cache-Control"), "a new version counts at once")
	require.Contains(t, worker.Header().Get("Content-Security-Policy"), "default-src 'none'")
	list := regexp.MustCompile(`(?m)^const shell = (.*);$`).FindStringSubmatch(worker.Body.String())
	require.Len(t, list, 2)
	var shell []string
	require.NoError(t, json.Unmarshal([]byte(list[1]), &shell))
	require.Equal(t, "/", shell[0])
	var named []string
	for _, part := range regexp.MustCompile(`(?:src|href)="(/assets/[^"]+\.(?:js|css))"`).FindAllStringSubmatch(ask(t, "GET", "/", browserAccept).Body.String(), -1) {
		named = append(named, part[1])
	}
	require.Equal(t, append(slices.DeleteFunc(named, func(name string) bool { return name == loader }), loader), shell[1:])
}

func TestTheInstalledPage(t *testing.T) {
	t.Parallel()
	manifest := ask(t, "GET", "/assets/manifest.webmanifest", fetchAccept)
	require.Equal(t, "application/manifest+json", manifest.Header().Get("Content-Type"))
	var app struct {
		StartURL string `json:"start_url"`
		Icons    []struct {
			Src     string `json:"src"`
			Type    string `json:"type"`
			Sizes   string `json:"sizes"`
			Purpose string `json:"purpose"`
		} `json:"icons"`
	}
	require.NoError(t, json.Unmarshal(manifest.Body.Bytes(), &app))
	start := ask(t, "GET", app.StartURL, browserAccept)
	require.Equal(t, http.StatusOK, start.Code)
	head := regexp.MustCompile(`--sheet: light-dark\((#\w+), (#\w+)\)`).FindStringSubmatch(ask(t, "GET", "/assets/style.css", fetchAccept).Body.String())
	require.Len(t, head, 3)
	for i, scheme := range []string{"light", "dark"} {
		require.Contains(t, start.Body.String(), `<meta name="theme-color" media="(prefers-color-scheme: `+scheme+`)" content="`+head[i+1]+`">`, "the frame of the window has the colour of the page's head")
	}
	require.Len(t, app.Icons, 3)
	maskable := 0
	for _, icon := range app.Icons {
		got := ask(t, "GET", icon.Src, fetchAccept)
		require.Equal(t, http.StatusOK, got.Code, icon.Src)
		require.Equal(t, icon.Type, got.Header().Get("Content-Type"))
		require.Less(t, got.Body.Len(), 8<<10)
		if icon.Type != "image/png" {
			continue
		}
		drawn, err := png.Decode(got.Body)
		require.NoError(t, err)
		require.Equal(t, icon.Sizes, fmt.Sprintf("%dx%d", drawn.Bounds().Dx(), drawn.Bounds().Dy()))
		if !slices.Contains(strings.Fields(icon.Purpose), "maskable") {
			continue
		}
		maskable++
		for _, corner := range []image.Point{drawn.Bounds().Min, drawn.Bounds().Max.Sub(image.Pt(1, 1))} {
			_, _, _, opaque := drawn.At(corner.X, corner.Y).RGBA()
			require.EqualValues(t, 0xffff, opaque, "a system cuts its own shape out of it")
		}
	}
	require.Equal(t, 1, maskable)
}

func TestPagesAllowNothingButTheirParts(t *testing.T) {
	t.Parallel()
	page := ask(t, "GET", "/", browserAccept)
	require.Equal(t, "no-cache", page.Header().Get("Cache-Control"))
	policy := page.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "require-trusted-types-for 'script'")
	require.Contains(t, policy, "frame-ancestors 'none'")
	require.NotContains(t, policy, "unsafe")
	parts := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	require.Contains(t, page.Body.String(), `<script src="`+loader+`"></script>`, "another replica, with another version, has it too")
	names := map[string]bool{"sw.js": true}
	for _, part := range parts {
		names[path.Base(part[1])] = true
	}
	modules, err := filepath.Glob("assets/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, modules)
	for _, module := range modules {
		require.Contains(t, names, filepath.Base(module), "the page names all its modules, so that none waits for another")
	}
	for _, part := range parts {
		if part[1] == "/" {
			continue
		}
		got := ask(t, "GET", part[1], fetchAccept)
		require.Equal(t, http.StatusOK, got.Code, part[1])
		require.NotContains(t, got.Header().Get("Content-Type"), "octet-stream")
		if regexp.MustCompile(`\.(js|css)$`).MatchString(part[1]) && part[1] != loader {
			require.Regexp(t, `^/assets/[0-9a-f]{16}/`, part[1])
			require.Contains(t, got.Header().Get("Cache-Control"), "immutable", part[1])
			require.Equal(t, http.StatusTeapot, ask(t, "GET", strings.Replace(part[1], "/assets/", "/assets/0", 1), fetchAccept).Code, "another version")
		} else {
			require.Equal(t, "no-cache", got.Header().Get("Cache-Control"), part[1])
		}
		again := ask(t, "GET", part[1], fetchAccept, "If-None-Match", got.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code, "nothing has changed")
	}
}
