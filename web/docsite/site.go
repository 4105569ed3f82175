// Package docsite serves the repository's documents as a site at /docs: Markdown as pages with
// navigation and search, the API reference, and files that the documents link to. Pages are
// rendered on first request and cached. Everything is embedded in the program.
//
// It must not know the store or the service: documents are files.
package docsite

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Root is the address of the first page. All others are below it.
const Root = "/docs"

// contentSecurityPolicy allows only the site's own scripts, styles and images.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// packedFrom is the minimum size in bytes for compression.
const packedFrom = 1 << 10

//go:embed assets
var assets embed.FS

// Site is the documentation site.
type Site struct {
	documents fs.FS
	api       []byte
	files     map[string]*file
	contents  func() []section
	reference func() *reference
	layout    func() layout
}

// file is the response of one address.
type file struct {
	contentType string
	make        func() []byte
	once        sync.Once
	text        []byte
	packed      []byte
	etag        string
}

// New returns a site for documents, named as in the repository with docs/index.md as the first
// page, and for the OpenAPI description as JSON. It reads only the names.
func New(documents fs.FS, api []byte) *Site {
	s := &Site{documents: documents, api: api, files: map[string]*file{}}
	s.contents = sync.OnceValue(s.readContents)
	s.reference = sync.OnceValue(s.readReference)
	s.layout = sync.OnceValue(parseLayout)
	for _, name := range namesOf(documents) {
		s.addDocument(name)
	}
	for _, name := range []string{"docs.css", "docs.js"} {
		s.files[Root+"/assets/"+name] = &file{contentType: contentType(name), make: func() []byte { return mustRead(assets, "assets/"+name) }}
	}
	s.files[Root+"/search.json"] = &file{contentType: "application/json; charset=utf-8", make: s.searchIndex}
	return s
}

// namesOf returns the sorted names of all files.
func namesOf(documents fs.FS) []string {
	var names []string
	err := fs.WalkDir(documents, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		panic(err) // the files are embedded
	}
	return names
}

// find returns the file at an address, or nil.
func (s *Site) find(address string) *file {
	if found := s.files[address]; found != nil {
		return found
	}
	if address == referenceRoot || strings.HasPrefix(address, referenceRoot+"/") {
		return s.reference().files[address]
	}
	return nil
}

func (s *Site) addDocument(name string) {
	address := addressOf(name)
	switch path.Ext(name) {
	case ".md":
		s.files[address] = &file{contentType: htmlType, make: func() []byte { return s.markdownPage(name) }}
		if address != Root {
			// The Markdown source, for programs.
			s.files[address+".md"] = &file{contentType: "text/markdown; charset=utf-8", make: func() []byte { return mustRead(s.documents, name) }}
		}
	case ".png":
		s.files[address] = &file{contentType: "image/png", make: func() []byte { return mustRead(s.documents, name) }}
	default:
		s.files[address] = &file{contentType: htmlType, make: func() []byte { return s.sourcePage(name) }}
	}
}

// addressOf returns the address of a repository file: docs/rules.md is at /docs/rules,
// sdk/python/README.md at /docs/sdk/python, and examples/langgraph/bridge.mjs below /docs by its
// name.
func addressOf(name string) string {
	name = strings.TrimPrefix(name, "docs/")
	if base, isPage := strings.CutSuffix(name, ".md"); isPage {
		name = strings.ToLower(base)
		for _, first := range []string{"index", "readme"} {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "/"+first), first)
		}
	}
	return strings.TrimSuffix(Root+"/"+name, "/")
}

const htmlType = "text/html; charset=utf-8"

func contentType(name string) string {
	if path.Ext(name) == ".js" {
		return "text/javascript; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// IsPage reports whether a request is for a page, which other sites may link to.
func IsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == Root || strings.HasPrefix(r.URL.Path, Root+"/"))
}

// Serve answers a GET or HEAD below /docs. It returns false without writing when the address does
// not exist and the caller is not a browser.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) bool {
	if found := s.find(r.URL.Path); found != nil {
		found.serve(w, r, http.StatusOK)
		return true
	}
	if without := strings.TrimSuffix(r.URL.Path, "/"); without != r.URL.Path && s.find(without) != nil {
		http.Redirect(w, r, without, http.StatusPermanentRedirect)
		return true
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	missing := &file{contentType: htmlType, make: s.missingPage}
	missing.serve(w, r, http.StatusNotFound)
	return true
}

func (f *file) prepare() {
	f.text = f.make()
	sum := sha256.Sum256(f.text)
	f.etag = hex.EncodeToString(sum[:8])
	if len(f.text) < packedFrom || strings.HasPrefix(f.contentType, "image/") {
		return
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(f.text) // a buffer returns no error
	_ = writer.Close()
	f.packed = packed.Bytes()
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, status int) {
	f.once.Do(f.prepare)
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	// Browsers revalidate each time, so that a new version is visible at once.
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	text, etag := f.text, f.etag
	if f.packed != nil {
		header.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			header.Set("Content-Encoding", "gzip")
			text, etag = f.packed, f.etag+"-gzip"
		}
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(text) // a failed write means that the client disconnected
		}
		return
	}
	header.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// acceptsGzip reports whether gzip is accepted with a nonzero weight.
func acceptsGzip(lines []string) bool {
	for item := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		coding, weight, _ := strings.Cut(strings.ToLower(item), ";")
		if strings.TrimSpace(coding) == "gzip" {
			return strings.Trim(strings.TrimPrefix(strings.TrimSpace(weight), "q="), "0.") != "" || strings.TrimSpace(weight) == ""
		}
	}
	return false
}

// mustRead reads an embedded file, which exists.
func mustRead(from fs.FS, name string) []byte {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		panic(err)
	}
	return text
}
