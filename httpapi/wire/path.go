package wire

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/auth"
)

// PathID returns an id from the request's path, unescaped once, or "" when the route has no such
// parameter. It may not be a valid id; its look-up then fails as unknown.
func PathID(r *http.Request, name string) string {
	value := r.PathValue(name)
	// The router matches RawPath if the request has one, otherwise the unescaped Path.
	if r.URL.RawPath == "" || !strings.Contains(value, "%") {
		return value
	}
	plain, err := url.PathUnescape(value)
	if err != nil {
		return value
	}
	return plain
}

// PartMark separates a run's id from a dialect's id for a part of it. Run ids do not contain it.
const PartMark = "~"

// RunOf returns the id of the run that an id names, even for a part of it.
func RunOf(id string) string {
	runID, _, _ := strings.Cut(id, PartMark)
	return runID
}

// Shown makes a text from a request line safe to show and to log: at most 200 bytes of valid UTF-8, without
// the secret of a link.
func Shown(text string) string {
	const limit = 200
	if at := strings.Index(text, auth.LinkPrefix); at >= 0 {
		text = text[:at] + auth.LinkPrefix + "…"
	}
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
