package docsite_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/web/docsite"
)

// whole is the site of the program, which all tests read.
var whole = docsite.New(holdpoint.Documents(), holdpoint.OpenAPIJSON())

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// ask returns a site's answer, with status 0 if the site does not handle the address.
func ask(t testing.TB, site *docsite.Site, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	request.URL.Path = address
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	reply := httptest.NewRecorder()
	if !site.Serve(reply, request) {
		reply.Code = 0
	}
	return reply
}

var (
	href    = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchors = regexp.MustCompile(` id="([^"]*)"`)
)

// TestEveryPageIsReachedAndEveryLinkLeadsSomewhere follows all links from the first page on.
func TestEveryPageIsReachedAndEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	seen := map[string]map[string]bool{} // anchors by address
	queue, links := []string{docsite.Root}, map[string]string{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] != nil {
			continue
		}
		reply := ask(t, whole, at)
		require.Equal(t, http.StatusOK, reply.Code, "%s, which %s links", at, links[at])
		seen[at] = map[string]bool{}
		if !strings.HasPrefix(reply.Header().Get("Content-Type"), "text/html") {
			continue
		}
		require.NotContains(t, reply.Body.String(), "<th></th>", "%s has a column without a name", at)
		for _, match := range anchors.FindAllStringSubmatch(reply.Body.String(), -1) {
			seen[at][match[1]] = true
		}
		for _, match := range href.FindAllStringSubmatch(reply.Body.String(), -1) {
			target := match[1]
			if strings.HasPrefix(target, "#") {
				target = at + target
			}
			links[target] = at
			if address, _, _ := strings.Cut(target, "#"); strings.HasPrefix(address, docsite.Root) {
				links[address] = at
				queue = append(queue, address)
			} else {
				require.Regexp(t, `^(https?://|/$|/assets/|/openapi\.|mailto:)`, target, at)
			}
		}
	}
	for target, from := range links {
		if address, anchor, has := strings.Cut(target, "#"); has && strings.HasPrefix(address, docsite.Root) {
			require.True(t, seen[address][anchor], "%s links %s, and there is no such place", from, target)
		}
	}
	require.NoError(t, fs.WalkDir(holdpoint.Documents(), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			address := strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(strings.TrimSuffix(name, ".md"), "docs/")), "/readme")
			if address != "index" {
				require.NotNil(t, seen[docsite.Root+"/"+address], "no page links %s: it has no line in docs/index.md", name)
			}
		}
		return err
	}))
	for _, linked := range []string{"/api/approvals", "/examples/langgraph/bridge.mjs", "/deploy/nginx.conf"} {
		require.NotNil(t, seen[docsite.Root+linked], linked)
	}
}

// TestTheSearchFindsHeadings holds the addresses of the index to the pages.
func TestTheSearchFindsHeadings(t *testing.T) {
	t.Parallel()
	var entries []struct {
		Address string `json:"address"`
		Heading string `json:"heading"`
		Text    string `json:"text"`
	}
	require.NoError(t, json.Unmarshal(ask(t, whole, docsite.Root+"/search.json").Body.Bytes(), &entries))
	found := map[string]string{}
	first := map[string]int{} // of each page
	for i, one := range entries {
		address, anchor, has := strings.Cut(one.Address, "#")
		page := ask(t, whole, address)
		require.Equal(t, http.StatusOK, page.Code, one.Address)
		if has {
			require.Contains(t, page.Body.String(), ` id="`+anchor+`"`, one.Address)
		}
		found[one.Address] = one.Heading + ": " + one.Text
		if _, seen := first[address]; !seen {
			first[address] = i
		}
	}
	require.Less(t, first["/docs/deploy"], first["/docs/changelog"], "what fits equally well is shown in the order of the navigation")
	require.Less(t, first["/docs/start-operate"], first["/docs/benchmark-log"])
	require.Less(t, first["/docs/changelog"], first["/docs"], "the first page has the words of all others")
	require.Contains(t, found["/docs/inbox#deciding"], "Deciding: ")
	require.Contains(t, found["/docs/inbox#deciding"], "it is checked against its schema")
	require.Equal(t, "POST /v1/runs/{run_id}/approvals: Decide approvals of a run resolveRunApprovals", found["/docs/api/approvals#resolveRunApprovals"])
	require.Contains(t, found, "/docs/api/schemas#RunView")
	for address, text := range found {
		require.NotContains(t, text, "<!--", address)
	}
}

// TestTheReferenceShowsEveryOperation holds the pages to openapi.json.
func TestTheReferenceShowsEveryOperation(t *testing.T) {
	t.Parallel()
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(holdpoint.OpenAPIJSON(), &description))
	overview := ask(t, whole, docsite.Root+"/api").Body.String()
	count := 0
	for path, methods := range description.Paths {
		for method := range methods {
			if method != "parameters" {
				count++
				require.Contains(t, overview, "<code>"+strings.ToUpper(method)+" "+path+"</code>")
			}
		}
	}
	require.Greater(t, count, 60)
	page := ask(t, whole, docsite.Root+"/api/approvals").Body.String()
	for _, part := range []string{`id="resolveRunApprovals"`, `href="/docs/api/schemas#ResolveApprovals"`, "Example: allow", "<dt>409</dt>", "<code>run_id</code> *"} {
		require.Contains(t, page, part)
	}
	schemas := ask(t, whole, docsite.Root+"/api/schemas").Body.String()
	require.Contains(t, schemas, `<code>resolutions</code> *`)
	require.NotContains(t, schemas, "%!", "a format without its argument")
}

// TestHostileDocumentsAreText: a document's content cannot become markup of the page.
func TestHostileDocumentsAreText(t *testing.T) {
	t.Parallel()
	site := docsite.New(fstest.MapFS{
		"docs/index.md": {Data: []byte("# First\n\n## Part\n\n- [Bad](bad" + ".md)\n")},
		"docs/bad" + ".md": {Data: []byte("# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n<!-- kept\nout -->\n\nsome <b onclick=x>raw</b> text\n\n" +
			"[run](javascript:alert(1)) [data](data:text/html,x) [up](../../../etc/passwd) ![](x\"onerror=\"y)\n\n## \"><svg onload=x>\n\n```\n</code></pre><script>\n```\n\n|a|\n|-:|\n|<i>|\n")},
	}, []byte(`{"info":{"title":"<u>"},"tags":[],"paths":{"/<s>":{"get":{"operationId":"\"x","summary":"<script>"}}}}`))
	page := ask(t, site, "/docs/bad").Body.String()
	body := page[strings.Index(page, "<main"):strings.Index(page, "</main>")]
	for _, never := range []string{"<script", "<img src=x", "<b ", "<svg", "<i>", "javascript:", "data:", "kept", "style=", `"onerror`} {
		require.NotContains(t, body, never)
	}
	require.Contains(t, body, "&lt;img src=x onerror=alert(1)&gt;")
	require.Contains(t, body, `href="https://github.com/holdpoint/holdpoint/blob/main/../../etc/passwd"`, "no file of the machine")
	require.Contains(t, page, "<title>")
	reference := ask(t, site, "/docs/api/other").Body.String()
	require.NotContains(t, reference, "<script>")
	require.NotContains(t, reference, "<s>")
	require.Contains(t, reference, `id="&#34;x"`)
}

// A state diagram becomes a table of its transitions; other blocks stay unchanged.
func TestStateDiagramsAreTables(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"```mermaid\nstateDiagram-v2\n    [*] --> queued : accepted\n    queued --> [*]\n```\n": "<tr><td>the beginning</td><td><code>queued</code></td><td>accepted</td></tr>\n<tr><td><code>queued</code></td><td>the end</td><td></td></tr>",
		"```mermaid\nstateDiagram-v2\n a --> b : <i>&\n```\n":                                   "<td>&lt;i&gt;&amp;</td>",
		"```mermaid\nstateDiagram-v2\n a --> b\n note left of a: x\n```\n":                      "<code>stateDiagram-v2\n a --&gt; b\n note left",
		"```mermaid\nflowchart LR\n a --> b\n```\n":                                             "<code>flowchart LR",
		"```mermaid\n```\n":                     "<code></code>",
		"```\nstateDiagram-v2\n a --> b\n```\n": "<code>stateDiagram-v2",
	} {
		site := docsite.New(fstest.MapFS{"docs/index.md": {Data: []byte("# First\n\n" + source)}}, []byte(`{}`))
		require.Contains(t, ask(t, site, docsite.Root).Body.String(), want, source)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"/docs/../openapi.yaml", "/docs/../../etc/passwd", "/docs/spec/../rules", "/docs/%2e%2e/x", "/docs/index", "/docs/assets", "/docs/assets/layout.html", "/docs/api/nothing",
		"/docs//", "/docs/go.mod", "/docs/\x00", "/docs/" + strings.Repeat("a/", 4000), "/docs/Rules",
	} {
		require.Zero(t, ask(t, whole, address, "Accept", "application/json").Code, address)
		missing := ask(t, whole, address, "Accept", browser)
		require.Equal(t, http.StatusNotFound, missing.Code, address)
		require.Contains(t, missing.Body.String(), "There is no such page")
		require.Empty(t, missing.Header().Get("ETag"))
	}
	turned := ask(t, whole, "/docs/rules/")
	require.Equal(t, http.StatusPermanentRedirect, turned.Code)
	require.Equal(t, "/docs/rules", turned.Header().Get("Location"))
	raw := ask(t, whole, "/docs/rules"+".md")
	require.Equal(t, "text/markdown; charset=utf-8", raw.Header().Get("Content-Type"))
	require.True(t, strings.HasPrefix(raw.Body.String(), "# "))
}

func TestPagesArePackedAndKept(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]bool{"gzip, deflate, br": true, "br;q=1, GZIP;q=0.5": true, "gzip;q=0": false, "gzip;q=0.0": false, "identity": false, "": false, "*": false} {
		got := ask(t, whole, "/docs/rules", "Accept-Encoding", accepted)
		require.Equal(t, want, got.Header().Get("Content-Encoding") == "gzip", accepted)
		text := got.Body.String()
		if want {
			unpacked, err := gzip.NewReader(got.Body)
			require.NoError(t, err)
			all, err := io.ReadAll(unpacked)
			require.NoError(t, err)
			text = string(all)
		}
		require.Contains(t, text, "</html>")
		require.Contains(t, got.Header().Values("Vary"), "Accept-Encoding")
		again := ask(t, whole, "/docs/rules", "Accept-Encoding", accepted, "If-None-Match", got.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Empty(t, again.Body)
	}
	require.NotEqual(t, ask(t, whole, "/docs/rules", "Accept-Encoding", "gzip").Header().Get("ETag"), ask(t, whole, "/docs/rules").Header().Get("ETag"))
	page := ask(t, whole, "/docs/rules")
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, page.Header().Get("Content-Security-Policy"), "unsafe")
	require.Equal(t, "no-cache", page.Header().Get("Cache-Control"))
}

func BenchmarkFirstPage(b *testing.B) {
	for b.Loop() {
		site := docsite.New(holdpoint.Documents(), holdpoint.OpenAPIJSON())
		ask(b, site, docsite.Root)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		docsite.New(holdpoint.Documents(), holdpoint.OpenAPIJSON())
	}
}
