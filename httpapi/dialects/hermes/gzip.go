package hermes

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// gzipFrom is the minimum size in bytes for compression. The middlewares of chi and
// klauspost/compress do not support "*" and q=0 as this contract requires, and omit Content-Length.
const gzipFrom = 1 << 10

var (
	jsonType = []string{"application/json; charset=utf-8"}
	noStore  = []string{"no-store"}
	gzipped  = []string{"gzip"}
)

// pretty is the format of every reply (docs/spec/hermes.md#conventions). Stored documents were
// checked on the way in.
var pretty = json.JoinOptions(jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))

// gzipWriters are reused, because each has large buffers.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// respondPretty answers with a value as indented JSON.
func respondPretty(w http.ResponseWriter, r *http.Request, status int, value any) error {
	text, err := json.Marshal(value, pretty)
	if err != nil {
		return err
	}
	header := w.Header()
	header["Content-Type"], header["Cache-Control"] = jsonType, noStore
	if len(text) > gzipFrom {
		header["Vary"] = append(header["Vary"], "Accept-Encoding") // the shell already adds Origin
		if acceptsGzip(r.Header) {
			header["Content-Encoding"] = gzipped
			text = compressed(text)
		}
	}
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	w.WriteHeader(status)
	_, _ = w.Write(text) // a failed write means that the client disconnected
	return nil
}

func compressed(text []byte) []byte {
	var out bytes.Buffer
	writer, _ := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(writer)
	writer.Reset(&out)
	_, _ = writer.Write(text) // a buffer returns no error
	_ = writer.Close()
	return out.Bytes()
}

// acceptsGzip reports whether the caller accepts gzip, by name or by "*".
func acceptsGzip(header http.Header) bool {
	accepted := false
	for _, line := range header["Accept-Encoding"] {
		for item := range strings.SplitSeq(line, ",") {
			coding, parameters, _ := strings.Cut(item, ";")
			weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(parameters), "q="), 64)
			wanted := err != nil || weight > 0
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return wanted
			case "*":
				accepted = wanted
			}
		}
	}
	return accepted
}
