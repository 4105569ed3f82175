// Package tracingtest is a collector for tests that keeps the received spans. Only tests
// import it.
package tracingtest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span.
type Span struct {
	Name, TraceID, SpanID, ParentID string
	Status                          string
	// Attributes are converted to text.
	Attributes map[string]string
	// Links are the ids of the linked spans, as "trace/span".
	Links  []string
	Events []string
}

// ID returns the span's id as used in Links.
func (s Span) ID() string { return s.TraceID + "/" + s.SpanID }

// Receiver is a collector on a loopback address.
type Receiver struct {
	URL string

	mu    sync.Mutex
	spans []Span
	raw   bytes.Buffer
}

// Start serves a collector until the test ends.
func Start(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// ServeHTTP receives an export.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(request.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &sent)
	}
	if err != nil || request.URL.Path != "/v1/traces" {
		http.Error(w, "not an export of traces", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(text)
	for _, of := range sent.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				one := Span{
					Name: span.GetName(), TraceID: hex.EncodeToString(span.GetTraceId()), SpanID: hex.EncodeToString(span.GetSpanId()),
					ParentID: hex.EncodeToString(span.GetParentSpanId()), Status: span.GetStatus().GetMessage(), Attributes: map[string]string{},
				}
				for _, attribute := range span.GetAttributes() {
					one.Attributes[attribute.GetKey()] = textOf(attribute.GetValue())
				}
				for _, link := range span.GetLinks() {
					one.Links = append(one.Links, hex.EncodeToString(link.GetTraceId())+"/"+hex.EncodeToString(link.GetSpanId()))
				}
				for _, event := range span.GetEvents() {
					one.Events = append(one.Events, event.GetName())
				}
				r.spans = append(r.spans, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK)
}

func textOf(value *common.AnyValue) string {
	switch value := value.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return value.StringValue
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(value.IntValue, 10)
	case *common.AnyValue_BoolValue:
		return strconv.FormatBool(value.BoolValue)
	case *common.AnyValue_DoubleValue:
		return strconv.FormatFloat(value.DoubleValue, 'f', -1, 64)
	}
	return ""
}

// Spans returns the spans received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Raw returns all bytes received.
func (r *Receiver) Raw() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw.String()
}

// Named returns the spans with a name.
func (r *Receiver) Named(name string) (found []Span) {
	for _, span := range r.Spans() {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// One returns the only span with a name.
func (r *Receiver) One(tb testing.TB, name string) Span {
	tb.Helper()
	found := r.Named(name)
	require.Len(tb, found, 1, name)
	return found[0]
}
