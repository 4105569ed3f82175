package wire

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// PathID returns an id from the path of the request, unescaped once, or "" when the route has
// none of that name. It may be no valid id; its lookup then answers that it is unknown.
func PathID(r *http.Request, name string) string {
	value := r.PathValue(name)
	// The router matches RawPath where the request has one, and else the unescaped Path.
	if r.URL.RawPath == "" || !strings.Contains(value, "%") {
		return value
	}
	plain, err := url.PathUnescape(value)
	if err != nil {
		return value
	}
	return plain
}

// PartMark separates the id of a run from that which a face gives to a part of it. No run
// has it in its id.
const PartMark = "~"

// RunOf returns the run that an id names, also one of a part.
func RunOf(id string) string {
	runID, _, _ := strings.Cut(id, PartMark)
	return runID
}

// Shown returns a text from a request line in a form that a detail may show: at
// most 200 bytes, valid UTF-8.
func Shown(text string) string {
	const limit = 200
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
