package wire

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/internal/failpoint"
)

// Header values are shared slices, so setting one does not allocate.
var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
)

// encoding writes domain documents. Stored documents were checked on the way in, so duplicate names
// are not checked again. Invalid UTF-8 from a request line is written as replacement characters.
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// maxPooledBuffer is the maximum size of a buffer that is returned to the pool.
const maxPooledBuffer = 64 << 10

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer {
	buffer, _ := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	return buffer
}

func putBuffer(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxPooledBuffer {
		buffers.Put(buffer)
	}
}

// Respond answers with a value as JSON. It encodes before it writes, so that an encoding error
// becomes a problem document and not half a reply.
func Respond(w http.ResponseWriter, r *http.Request, status int, value any) error {
	writeJSON(w, r, status, jsonType, value)
	return nil
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, mediaType []string, value any) {
	buffer := getBuffer()
	defer putBuffer(buffer)
	if err := encode(r, buffer, value); err != nil {
		if mediaType[0] == problemType[0] {
			// A problem has only strings, so this cannot happen.
			http.Error(w, http.StatusText(status), status)
			return
		}
		WriteProblem(w, r, errors.Join(errEncode, err))
		return
	}
	// Ends the line on a terminal.
	buffer.WriteByte('\n')
	WriteBytes(w, r, status, mediaType, buffer.Bytes())
}

// encode encodes a value. A long one waits for a CPU slot ([cpulimit.Begin]) and returns the
// context's error when that ends first.
func encode(r *http.Request, buffer *bytes.Buffer, value any) error {
	w := turnWriter{ctx: r.Context(), buffer: buffer}
	defer w.endTurn()
	return json.MarshalWrite(&w, value, encoding)
}

// turnWriter writes to a buffer and waits for a CPU slot before it gets long.
type turnWriter struct {
	ctx    context.Context
	buffer *bytes.Buffer
	end    func()
}

func (w *turnWriter) Write(text []byte) (n int, err error) {
	if w.end == nil && w.buffer.Len()+len(text) >= cpulimit.Bytes {
		if w.end, err = cpulimit.Begin(w.ctx); err != nil {
			return 0, err
		}
	}
	return w.buffer.Write(text)
}

func (w *turnWriter) endTurn() {
	if w.end != nil {
		w.end()
	}
}

var errEncode = errors.New("encode the reply")

// WriteBytes answers with an encoded body.
func WriteBytes(w http.ResponseWriter, r *http.Request, status int, mediaType []string, body []byte) {
	header := w.Header()
	header["Content-Type"] = mediaType
	// net/http counts short bodies itself, if the reply is not sent before the end of the call.
	if len(body) > 2048 || r.Method == http.MethodHead || refusesUnread(r, status) {
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	failpoint.Hit("http.reply")
	w.WriteHeader(status)
	// A failed write means that the client disconnected.
	_, _ = w.Write(body)
	failpoint.Hit("http.written")
}

// Locate sets the Location of a created resource.
func Locate(w http.ResponseWriter, path, id string) {
	w.Header()["Location"] = []string{path + id}
}

// Recorded is an http.ResponseWriter that keeps a response. The Status is 0 until it is written.
type Recorded struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Header implements http.ResponseWriter.
func (r *Recorded) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader implements http.ResponseWriter.
func (r *Recorded) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write implements http.ResponseWriter.
func (r *Recorded) Write(text []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(text)
}
