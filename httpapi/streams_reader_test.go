package httpapi_test

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// A stream that ends is checked against openapi.yaml as a text.
func init() {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
}

// frame is one frame of a stream as its reader sees it. A comment is a frame with
// nothing but its text.
type frame struct {
	id, name, data, comment, retry string
}

// reader reads a stream frame by frame.
type reader struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Reader
}

// follow opens a stream. It ends with the test.
func (a *rig) follow(t *testing.T, path string, options ...option) *reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server.URL+path, http.NoBody)
	require.NoError(t, err)
	for _, apply := range options {
		request = apply(request)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	r := &reader{t: t, response: response, lines: bufio.NewReader(response.Body)}
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, frame{retry: "1000"}, r.next())
	return r
}

// read returns the next frame, or the error that ended the stream.
func (r *reader) read() (frame, error) {
	var one frame
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return one, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			one.id = value
		case "event":
			one.name = value
		case "data":
			one.data = value
		case "retry":
			one.retry = value
		case "":
			if line == "\n" {
				return one, nil
			}
			one.comment = value
		}
	}
}

// next returns the next frame. The read has a time-out, because a hanging stream would only end
// with the test's deadline.
func (r *reader) next() frame {
	r.t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { _ = r.response.Body.Close() })
	defer watchdog.Stop()
	one, err := r.read()
	require.NoError(r.t, err, "the stream ended or hangs")
	return one
}

// event returns the next frame that is not a comment.
func (r *reader) event() frame {
	r.t.Helper()
	for {
		if one := r.next(); one.comment == "" {
			return one
		}
	}
}

// ends checks that the stream ends here and was not cut off.
func (r *reader) ends() {
	r.t.Helper()
	one, err := r.read()
	require.Equal(r.t, io.EOF, err, "%+v", one)
}

// snapshot returns the next frame, which must be one.
func (r *reader) snapshot() (id string, view map[string]any) {
	r.t.Helper()
	one := r.event()
	require.Equal(r.t, "snapshot", one.name)
	require.NoError(r.t, json.Unmarshal([]byte(one.data), &view))
	return one.id, view
}

// frames splits a whole stream.
func frames(t *testing.T, text string) []frame {
	t.Helper()
	r := &reader{t: t, lines: bufio.NewReader(strings.NewReader(text + "\n"))}
	var all []frame
	for {
		one, err := r.read()
		if err != nil {
			return all
		}
		all = append(all, one)
	}
}

func ids(all []frame) []string {
	list := []string{}
	for _, one := range all {
		list = append(list, one.id)
	}
	return list
}

// requireLog checks that frames equal the log after an event.
func (a *rig) requireLog(t *testing.T, path string, after string, got []frame) {
	t.Helper()
	log := a.get(t, path+"/events?after="+after).want(http.StatusOK)
	require.Len(t, got, len(log.list()))
	for i, one := range got {
		require.Equal(t, log.textAt(i, "id")+"."+log.textAt(i, "hash")[:16], one.id)
		require.Equal(t, log.textAt(i, "event", "type"), one.name)
		var entry any
		require.NoError(t, json.Unmarshal([]byte(one.data), &entry))
		require.Equal(t, log.at(i), entry)
	}
}

// position returns the id that a stream gives an event of a session.
func (a *rig) position(t *testing.T, sessionID, eventID string) string {
	t.Helper()
	log := a.get(t, "/v1/sessions/"+sessionID+"/events").want(http.StatusOK)
	for i := range log.list() {
		if log.textAt(i, "id") == eventID {
			return eventID + "." + log.textAt(i, "hash")[:16]
		}
	}
	t.Fatalf("session %s has no event %s", sessionID, eventID)
	return ""
}

// number returns the number of an event in the id of a frame.
func number(t *testing.T, text string) int {
	t.Helper()
	text, _, _ = strings.Cut(text, ".")
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
