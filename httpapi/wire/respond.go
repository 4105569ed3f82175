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

// Header values are shared slices: setting one costs no allocation.
var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
)

// encoding writes documents of the domain. Stored ones were checked when they came in, so
// duplicate names are not looked for again; text from the request line that is not UTF-8
// is shown with replacement characters.
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// maxPooledBuffer keeps the buffer of one large reply out of the pool.
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

// Respond answers with a value as JSON. It encodes before it writes, so that a value that
// cannot be encoded becomes a problem and not half a reply.
func Respond(w http.ResponseWriter, r *http.Request, status int, value any) error {
	writeJSON(w, r, status, jsonType, value)
	return nil
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, mediaType []string, value any) {
	buffer := getBuffer()
	defer putBuffer(buffer)
	if err := encode(r, buffer, value); err != nil {
		if mediaType[0] == problemType[0] {
			// A Problem holds texts only, so that this cannot happen.
			http.Error(w, http.StatusText(status), status)
			return
		}
		WriteProblem(w, r, errors.Join(errEncode, err))
		return
	}
	// A reply on a terminal ends its line.
	buffer.WriteByte('\n')
	WriteBytes(w, r, status, mediaType, buffer.Bytes())
}

// encode encodes a value. What gets long waits for a turn ([cpulimit.Begin]); the error is that of the
// call's context when it ends before.
func encode(r *http.Request, buffer *bytes.Buffer, value any) error {
	w := turnWriter{ctx: r.Context(), buffer: buffer}
	defer w.endTurn()
	return json.MarshalWrite(&w, value, encoding)
}

// turnWriter writes to a buffer, and waits for a turn before that gets long.
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

// WriteBytes answers with a finished body.
func WriteBytes(w http.ResponseWriter, r *http.Request, status int, mediaType []string, body []byte) {
	header := w.Header()
	header["Content-Type"] = mediaType
	// net/http counts short bodies by itself.
	if len(body) > 2048 || r.Method == http.MethodHead {
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	failpoint.Hit("http.reply")
	w.WriteHeader(status)
	// A failed write means that the client has disconnected.
	_, _ = w.Write(body)
	failpoint.Hit("http.written")
}
