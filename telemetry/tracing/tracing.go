package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	api "go.opentelemetry.io/otel/trace"
)

// Options configure where spans are sent. Other standard settings, such as
// OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME, are read from the
// environment.
type Options struct {
	// Endpoint is the base URL of the collector, as in OTEL_EXPORTER_OTLP_ENDPOINT. Empty:
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used.
	Endpoint string
	Version  string
	// Logger logs when spans cannot be sent, and when they can again.
	Logger *slog.Logger
}

// Limits of the cost of a slow or unreachable collector.
const (
	// queueSize bounds the spans waiting or being sent.
	queueSize = 4096
	// exportTimeout bounds one attempt to send spans, and shutdownTimeout the last one at
	// shutdown.
	exportTimeout   = 10 * time.Second
	shutdownTimeout = 3 * time.Second
)

// Tracing starts spans and sends them. It is safe for concurrent use.
type Tracing struct {
	provider *trace.TracerProvider
	tracer   api.Tracer
	queue    *queue
	// shutdownWithin is shutdownTimeout, except in tests.
	shutdownWithin time.Duration
}

// New returns a Tracing that sends spans until it is closed. It does not connect yet. The
// error says what is wrong with the endpoint or the environment.
func New(ctx context.Context, options Options) (*Tracing, error) {
	settings := []otlptracehttp.Option{otlptracehttp.WithTimeout(exportTimeout)}
	if options.Endpoint != "" {
		settings = append(settings, otlptracehttp.WithEndpointURL(strings.TrimRight(options.Endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, settings...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return newTracing(ctx, exporter, options)
}

func newTracing(ctx context.Context, exporter trace.SpanExporter, options Options) (*Tracing, error) {
	described, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("holdpoint"), semconv.ServiceVersion(options.Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	logger := cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	waiting := newQueue(exporter, logger)
	provider := trace.NewTracerProvider(trace.WithResource(described), trace.WithSpanProcessor(waiting))
	return &Tracing{provider: provider, tracer: provider.Tracer("github.com/holdpoint/holdpoint"), queue: waiting, shutdownWithin: shutdownTimeout}, nil
}

// Close sends the remaining spans, for a few seconds at most, and drops the rest.
func (t *Tracing) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), t.shutdownWithin)
	defer cancel()
	_ = t.queue.Shutdown(ctx)    // unsent spans are counted; the provider would skip this if the time was over
	_ = t.provider.Shutdown(ctx) // later spans are not recorded
}

// Counts returns the number of spans sent, and the number dropped because the collector did
// not accept them in time.
func (t *Tracing) Counts() (sent, dropped int64) {
	return t.queue.sent.Load(), t.queue.dropped.Load()
}

// Tracer returns the tracer for SQL statements.
func (t *Tracing) Tracer() api.Tracer { return t.tracer }

var errEndpoint = errors.New("it must be an http or https URL with a host")

// CheckEndpoint returns an error unless the text is the base URL of a collector. The error
// does not repeat the text, which may contain a password.
func CheckEndpoint(endpoint string) error {
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return errEndpoint
	}
	return nil
}

// CheckEnvironment returns the error with which [New] refuses the environment's resource attributes.
func CheckEnvironment() error {
	_, err := resource.New(context.Background(), resource.WithFromEnv())
	return err
}

func text(key, value string) attribute.KeyValue { return attribute.String(key, value) }
