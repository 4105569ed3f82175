// Package web is the inbox as people see it: the pages that the program serves to a browser, and
// everything they are made of, embedded. It is written by hand and built by nothing: modules, one
// style sheet, and htm with Preact (assets/vendor).
//
// It serves files. It must not know what is in them, the store, or the API: the pages are a client
// of /v1 like any other.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var files embed.FS

// assetsPath is below which the parts of the pages are served.
const assetsPath = "/assets/"

// contentSecurityPolicy allows the pages what they are made of, and nothing else: no inline script
// or style, no other host, no HTML that is made of text.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// pages are the first segments of the addresses of pages; true for those with one more.
var pages = map[string]bool{
	"runs": true, "sessions": true,
	"rules": false, "history": false, "workers": false, "effects": false, "settings": false, "webhooks": false, "login": false,
}

// file is one embedded file as it is served.
type file struct {
	contentType, etag string
	text              []byte
}

// Site serves the pages.
type Site struct{ files map[string]file }

// New returns the site.
func New() (*Site, error) {
	site := &Site{files: map[string]file{}}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		site.files["/"+name] = file{contentType: contentType(name), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, text: text}
		return nil
	})
	return site, err
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".html":
		return "text/html; charset=utf-8"
	}
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known
	}
	return "application/octet-stream"
}

// IsPage reports whether a request is for a page. An address that another contract has too is a
// page when HTML is preferred, and "/" always.
func (s *Site) IsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if r.URL.Path == "/" {
		return true
	}
	first, rest, more := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	below, known := pages[first]
	return known && below == more && (!more || rest != "" && !strings.Contains(rest, "/")) && prefersHTML(r.Header.Get("Accept"))
}

// prefersHTML reports whether HTML stands in an Accept header before JSON and before what takes
// everything, as it does in what browsers send for a page.
func prefersHTML(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		kind, _, _ := strings.Cut(one, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/html":
			return true
		case "application/json", "text/event-stream", "*/*", "application/*":
			return false
		}
	}
	return false
}

// Wrap returns a handler that serves the pages and their parts, and hands on the rest.
func (s *Site) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.IsPage(r):
			s.serve(w, r, s.files[assetsPath+"index.html"])
		case strings.HasPrefix(r.URL.Path, assetsPath) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			if found, there := s.files[r.URL.Path]; there {
				s.serve(w, r, found)
				return
			}
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request, found file) {
	header := w.Header()
	header.Set("Content-Type", found.contentType)
	header.Set("ETag", found.etag)
	// A browser asks each time and is told when nothing has changed: a new program is seen at once.
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Add("Vary", "Accept")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.text))
}
