package kheish

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// Prefix precedes /v1 in the address configured in a Kheish client.
const Prefix = "/kheish"

// shaper writes the reply to a call whose path begins with /v1.
type shaper func(next http.Handler, w http.ResponseWriter, r *http.Request)

// Face serves paths below [Prefix] with the same paths of the handler that it wraps. When draining
// is closed, held calls are answered at once.
func Face(draining <-chan struct{}) wire.Face {
	return wire.Face{Name: "kheish", Via: api.ViaAPI, Over: func(next http.Handler) http.Handler { return wrap(next, draining) }}
}

func wrap(next http.Handler, draining <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, found := strings.CutPrefix(r.URL.Path, Prefix+"/v1/")
		if !found {
			next.ServeHTTP(w, r)
			return
		}
		inner := r.Clone(wire.WithCallsAsInputs(r.Context()))
		inner.URL.Path = "/v1/" + path
		inner.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, Prefix)
		shaperOf(draining, r.Method, strings.Split(strings.TrimPrefix(inner.URL.EscapedPath(), "/v1/"), "/"))(next, &prefixing{ResponseWriter: w}, inner)
	})
}

// shaperOf returns the shaper for a route of /v1.
func shaperOf(draining <-chan struct{}, method string, path []string) shaper {
	switch views := path[0] == "sessions" || path[0] == "runs"; {
	case method == http.MethodPost && views && len(path) == 3 && path[2] == "questions":
		return answerTyped
	case method != http.MethodGet && views:
		return shapeViews
	case method != http.MethodGet:
		return asItIs
	case len(path) == 1 && path[0] == "sessions":
		return shapeSessions
	case len(path) == 1 && path[0] == "runs":
		return shapeRuns
	case len(path) == 1 && path[0] == "questions":
		return shapeViews
	case len(path) == 2 && path[0] == "runs":
		return shapeRun(draining)
	case len(path) == 1 && path[0] == "capabilities":
		return showDocument(capabilities)
	case len(path) == 1 && path[0] == "runtime":
		return showDocument(runtime)
	case len(path) == 3 && path[0] == "sessions" && path[2] == "events":
		return shapeSessionEvents
	case len(path) == 3 && path[0] == "runs" && path[2] == "events":
		return shapeRunEvents
	case len(path) == 3 && path[0] == "sessions" && path[2] == "stream":
		return shapeStream("session")
	case len(path) == 3 && path[0] == "runs" && path[2] == "stream":
		return shapeStream("run")
	case views:
		return shapeViews
	}
	return asItIs
}

func asItIs(next http.Handler, w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) }

// prefixing keeps links in replies of /v1 below [Prefix].
type prefixing struct {
	http.ResponseWriter
	begun bool
}

// Unwrap lets http.ResponseController find the connection.
func (p *prefixing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *prefixing) WriteHeader(status int) {
	p.begin()
	p.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (p *prefixing) Write(text []byte) (int, error) {
	p.begin()
	return p.ResponseWriter.Write(text)
}

func (p *prefixing) begin() {
	if p.begun {
		return
	}
	p.begun = true
	header := p.Header()
	for i, link := range header["Link"] {
		header["Link"][i] = strings.ReplaceAll(link, "</v1/", "<"+Prefix+"/v1/")
	}
	for i, location := range header["Location"] {
		if strings.HasPrefix(location, "/v1/") {
			header["Location"][i] = Prefix + location
		}
	}
}

// kept is a recorded reply.
type kept struct{ wire.Recorded }

// ask records the reply to a call. Replies of /v1 are limited in size.
func ask(next http.Handler, r *http.Request) *kept {
	reply := &kept{}
	next.ServeHTTP(reply, r)
	reply.WriteHeader(http.StatusOK)
	return reply
}

// askFor records the reply to a GET on behalf of a request's caller.
func askFor(next http.Handler, r *http.Request, path string, query url.Values) *kept {
	inner := r.Clone(r.Context())
	inner.Method, inner.Body = http.MethodGet, http.NoBody
	inner.URL = &url.URL{Path: path, RawQuery: query.Encode()}
	if decoded, err := url.PathUnescape(path); err == nil {
		inner.URL.Path, inner.URL.RawPath = decoded, path
	}
	inner.Header.Del("Last-Event-ID")
	inner.Header.Del("Prefer")
	return ask(next, inner)
}

// send sends a recorded reply with another body.
func (k *kept) send(w http.ResponseWriter, body []byte) {
	header := w.Header()
	for name, values := range k.Header() {
		header[name] = values
	}
	header.Del("Content-Length")
	w.WriteHeader(k.Status)
	_, _ = w.Write(body) // the client may have disconnected
}

func (k *kept) ok() bool { return k.Status >= 200 && k.Status < 300 }
