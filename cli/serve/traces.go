package serve

import (
	"context"
	"log/slog"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry/tracing"
	"github.com/holdpoint/holdpoint/telemetry/tracing/statements"
)

// traces is where spans are sent. A nil traces creates none.
type traces struct{ *tracing.Tracing }

// collector returns the collector's base URL, "" if the library reads it from the environment, and
// whether a collector is configured, by --otlp-endpoint or by OpenTelemetry's standard variables.
func (c *Command) collector(terminal *console.Console) (endpoint string, configured bool, err error) {
	variable := func(name string) string {
		value, _ := terminal.LookupEnv(name)
		return value
	}
	specific := variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if c.OTLPEndpoint == "" && !specific ||
		variable("OTEL_SDK_DISABLED") == "true" || variable("OTEL_TRACES_EXPORTER") == "none" {
		return "", false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if protocol := variable(name); protocol != "" && protocol != "http/protobuf" {
			return "", false, console.Usage("%s is %s: only http/protobuf is supported", name, protocol)
		}
	}
	if err := tracing.CheckEnvironment(); err != nil {
		return "", false, console.Usage("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if specific {
		return "", true, nil // it wins over the flag
	}
	if err := tracing.CheckEndpoint(c.OTLPEndpoint); err != nil {
		return "", false, console.Usage("--otlp-endpoint: %w", err)
	}
	return c.OTLPEndpoint, true, nil
}

// tracing returns nil unless a collector is configured.
func (c *Command) tracing(ctx context.Context, terminal *console.Console, logger *slog.Logger) (*traces, error) {
	endpoint, configured, err := c.collector(terminal)
	if err != nil || !configured {
		return nil, err
	}
	started, err := tracing.New(ctx, tracing.Options{Endpoint: endpoint, Version: console.Version(), Logger: logger})
	if err != nil {
		return nil, err
	}
	return &traces{started}, nil
}

// watch makes the store trace its work.
func (t *traces) watch(options *store.Options) {
	if t != nil {
		options.Tracer, options.StatementTracer = t.Tracing, statements.New(t.Tracer())
	}
}

// calls returns the tracer of calls, nil for none.
func (t *traces) calls() wire.Tracer {
	if t == nil {
		return nil
	}
	return t.Tracing
}

// counts returns a function that counts the spans sent and dropped, nil without tracing.
func (t *traces) counts() func() (sent, dropped int64) {
	if t == nil {
		return nil
	}
	return t.Counts
}

func (t *traces) close() {
	if t != nil {
		t.Close()
	}
}
