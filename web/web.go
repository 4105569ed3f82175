// Package web serves the inbox: the embedded pages for the browser with their scripts and styles.
// They are written by hand without a build step: modules, one style sheet, and htm with Preact
// (assets/vendor).
//
// It serves files. It must not know their contents, the store, or the API: the pages are a client
// of /v1 like any other.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed assets
var files embed.FS

// assetsPath is the prefix of the pages' assets.
const assetsPath = "/assets/"

const indexPage = assetsPath + "index.html"

// contentSecurityPolicy allows only the pages' own files: no inline script or style, no other host,
// no HTML made from strings. The one policy names the worker (push.js).
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker"

// worker is the service worker of all pages. From this address it may be.
const worker = "/sw.js"

// pages are the first segments of page addresses; true for those with a second segment.
var pages = map[string]bool{
	"runs": true, "sessions": true,
	"rules": false, "history": false, "workers": false, "effects": false, "settings": false, "webhooks": false, "login": false,
}

// file is an embedded file with its headers.
type file struct {
	contentType, etag, cacheControl string
	text                            []byte
}

// Browsers revalidate what has a fixed address, so that a new version is visible at once. A version
// of scripts and styles has addresses of its own, so a page never mixes two, and loads again without
// asking for one of them.
const (
	revalidated = "no-cache"
	immutable   = "public, max-age=31536000, immutable"
)

// Site serves the pages.
type Site struct{ files map[string]file }

// scripts are the references of the page to scripts and styles.
var scripts = regexp.MustCompile(`(?:href|src)="(` + assetsPath + `[^"]+\.(?:js|css))"`)

// loader loads the page again if one of its scripts is missing. During an upgrade another replica may not have this version,
// so the loader has the address that all versions have.
const loader = assetsPath + "again.js"

// New returns the site.
func New() (*Site, error) {
	site := &Site{files: map[string]file{}}
	all := sha256.New()
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		site.add("/"+name, text, revalidated)
		fmt.Fprintf(all, "%s\x00%d\x00%s", name, len(text), text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	version := hex.EncodeToString(all.Sum(nil)[:8]) + "/"
	for name, found := range maps.Clone(site.files) {
		site.add(assetsPath+version+strings.TrimPrefix(name, assetsPath), found.text, immutable)
	}
	shell := []byte(`const shell = ["/"`)
	page := scripts.ReplaceAllFunc(site.files[indexPage].text, func(reference []byte) []byte {
		address := string(scripts.FindSubmatch(reference)[1])
		if address == loader {
			return reference
		}
		shell = fmt.Appendf(shell, ", %q", assetsPath+version+strings.TrimPrefix(address, assetsPath))
		return bytes.Replace(reference, []byte(assetsPath), []byte(assetsPath+version), 1)
	})
	site.add(indexPage, page, revalidated)
	shell = fmt.Appendf(shell, ", %q", loader) // last: the worker knows its version by the first script or style
	site.add(worker, bytes.Replace(site.files[assetsPath+"sw.js"].text, []byte("const shell = ["), shell, 1), revalidated)
	return site, nil
}

func (s *Site) add(name string, text []byte, cacheControl string) {
	sum := sha256.Sum256(text)
	s.files[name] = file{contentType(name), `"` + hex.EncodeToString(sum[:8]) + `"`, cacheControl, text}
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
	case ".webmanifest":
		return "application/manifest+json"
	}
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known
	}
	return "application/octet-stream"
}

// IsPage reports whether a request is for a page. "/" always is. An address that the API has as
// well is a page when HTML is preferred.
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

// prefersHTML reports whether an Accept header lists HTML before JSON and before */*, as browsers
// do when they open a page.
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

// Wrap returns a handler that serves the pages and their assets and passes other requests on.
func (s *Site) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.IsPage(r):
			s.serve(w, r, s.files[indexPage])
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
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

// Missing answers a browser that opens an address where nothing is, with status 404 and the pages, which say so. It
// returns false for calls of the API and for callers that do not prefer HTML.
func (s *Site) Missing(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/") || !prefersHTML(r.Header.Get("Accept")) {
		return false
	}
	page := s.files[indexPage]
	setHeaders(w.Header(), page)
	w.Header().Del("ETag")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(page.text) // nothing is left to tell a browser that has gone
	return true
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request, found file) {
	setHeaders(w.Header(), found)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.text))
}

func setHeaders(header http.Header, found file) {
	header.Set("Content-Type", found.contentType)
	header.Set("ETag", found.etag)
	header.Set("Cache-Control", found.cacheControl)
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Add("Vary", "Accept")
}
