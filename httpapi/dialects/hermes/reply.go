package hermes

import (
	"bytes"
	"compress/gzip"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// gzipFrom is the size from which on a reply is compressed, when the caller takes it.
const gzipFrom = 1 << 10

var (
	jsonType  = []string{"application/json; charset=utf-8"}
	noStore   = []string{"no-store"}
	gzipped   = []string{"gzip"}
	byCoding  = []string{"Accept-Encoding"}
	oneSecond = []string{"1"}
)

// pretty is how the original writes a reply. What comes from stored documents was
// checked when it came in.
var pretty = json.JoinOptions(jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))

// compressors hold what one compression needs, which is much.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// failure is a plain error.
type failure struct {
	Error string `json:"error"`
}

// respond answers with a value as pretty-printed JSON (hermes.md 2.1).
func respond(w http.ResponseWriter, r *http.Request, status int, value any) {
	text, err := json.Marshal(value, pretty)
	if err != nil {
		// All replies are made of texts and numbers.
		panic("hermes: a reply has no JSON form: " + err.Error())
	}
	header := w.Header()
	header["Content-Type"], header["Cache-Control"] = jsonType, noStore
	if len(text) > gzipFrom {
		header["Vary"] = byCoding
		if takesGzip(r.Header) {
			header["Content-Encoding"] = gzipped
			text = compressed(text)
		}
	}
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	w.WriteHeader(status)
	// A failed write means that the client has gone; there is nobody to tell.
	_, _ = w.Write(text)
}

func compressed(text []byte) []byte {
	var out bytes.Buffer
	compressor, _ := compressors.Get().(*gzip.Writer)
	defer compressors.Put(compressor)
	compressor.Reset(&out)
	// A buffer takes everything.
	_, _ = compressor.Write(text)
	_ = compressor.Close()
	return out.Bytes()
}

// takesGzip reports whether the caller accepts gzip: by name, or because it takes
// anything.
func takesGzip(header http.Header) bool {
	takes := false
	for _, line := range header["Accept-Encoding"] {
		for _, item := range strings.Split(line, ",") {
			coding, parameters, _ := strings.Cut(item, ";")
			weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(parameters), "q="), 64)
			wanted := err != nil || weight > 0
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return wanted
			case "*":
				takes = wanted
			}
		}
	}
	return takes
}

// refuse answers with a plain error.
func refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	respond(w, r, status, failure{text})
}

// fail answers with the status that an error has on every face, and a plain error.
func (f *face) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem := wire.ProblemOf(err)
	f.report(r, problem.Status, err)
	if problem.Status == http.StatusServiceUnavailable {
		w.Header()["Retry-After"] = oneSecond
	}
	refuse(w, r, problem.Status, problem.Detail)
}

// report logs a failure of ours; a client that went away is none.
func (f *face) report(r *http.Request, status int, err error) {
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		f.services.Logger.LogAttrs(r.Context(), slog.LevelError, "hermes",
			slog.String("path", r.URL.Path), slog.Int("status", status), slog.String("error", err.Error()))
	}
}

// faultsOf says in words what does not fit, and not where it stands in a body that the
// caller never wrote.
func faultsOf(err error) string {
	var refused *refusal.Error
	if !errors.As(err, &refused) || len(refused.Faults) == 0 {
		return wire.ProblemOf(err).Detail
	}
	faults := make([]string, len(refused.Faults))
	for i, fault := range refused.Faults {
		faults[i] = fault.Detail
	}
	return strings.Join(faults, "; ")
}
