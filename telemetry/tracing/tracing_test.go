package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/telemetry/tracing/tracingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hanging accepts spans and blocks until it is released.
type hanging struct {
	taken chan int
	let   chan struct{}
}

func (h *hanging) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	h.taken <- len(spans)
	select {
	case <-h.let:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (*hanging) Shutdown(context.Context) error { return nil }

// A collector that hangs delays neither callers nor shutdown, and its lost spans are
// counted.
func TestACollectorThatHangsIsWaitedForByNobody(t *testing.T) {
	exporter := &hanging{make(chan int, queueSize), make(chan struct{})}
	tracing, err := newTracing(t.Context(), exporter, Options{})
	require.NoError(t, err)
	tracing.shutdownWithin = time.Millisecond
	const made = 3 * queueSize
	for range made {
		_, span := tracing.tracer.Start(t.Context(), "x")
		span.End()
	}
	<-exporter.taken // the exporter is busy
	sent, dropped := tracing.Counts()
	require.Zero(t, sent)
	require.Equal(t, int64(made-queueSize), dropped)
	tracing.Close()
	sent, dropped = tracing.Counts()
	require.Zero(t, sent)
	require.Equal(t, int64(made), dropped)
	close(exporter.let)
}

// A collector that refuses is logged once, and once more when it accepts spans again.
func TestACollectorThatRefusesIsToldOfOnce(t *testing.T) {
	receiver := tracingtest.Start(t)
	refusing := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusing {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		receiver.ServeHTTP(w, r)
	}))
	defer server.Close()
	logs := &bytes.Buffer{}
	tracing, err := New(t.Context(), Options{Endpoint: server.URL + "/", Version: "test", Logger: slog.New(slog.NewTextHandler(logs, nil))})
	require.NoError(t, err)
	send := func(name string) {
		_, span := tracing.tracer.Start(t.Context(), name)
		span.End()
		require.NoError(t, tracing.provider.ForceFlush(t.Context()))
	}
	send("one")
	send("two")
	refusing = false
	send("three")
	tracing.Close()
	sent, dropped := tracing.Counts()
	require.Equal(t, [2]int64{1, 2}, [2]int64{sent, dropped})
	receiver.One(t, "three")
	require.Contains(t, receiver.Raw(), "holdpoint")
	require.Equal(t, 1, bytes.Count(logs.Bytes(), []byte("cannot be sent")), logs)
	require.Equal(t, 1, bytes.Count(logs.Bytes(), []byte("sent again")), logs)
}

// The path of a collector's address may be a secret, as with those that are rented.
func TestTheLogHasNoPathOfACollector(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	for _, collector := range []string{refusing.URL, away.URL} {
		logs := &bytes.Buffer{}
		tracing, err := New(t.Context(), Options{Endpoint: collector + "/secret", Version: "test", Logger: slog.New(slog.NewTextHandler(logs, nil))})
		require.NoError(t, err)
		_, span := tracing.tracer.Start(t.Context(), "x")
		span.End()
		require.NoError(t, tracing.provider.ForceFlush(t.Context()))
		tracing.Close()
		require.Contains(t, logs.String(), collector+"/…")
		require.NotContains(t, logs.String(), "secret")
	}
}

func TestEndpointsAreChecked(t *testing.T) {
	require.NoError(t, CheckEndpoint("http://127.0.0.1:4318"))
	for _, bad := range []string{"", "127.0.0.1:4318", "localhost:4318", "grpc://collector", "http://", "http://user:secret@ host"} {
		err := CheckEndpoint(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "secret")
	}
}
