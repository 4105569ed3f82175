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

// tracing returns nil unless a collector is configured, by --otlp-endpoint or by
// OpenTelemetry's standard variables.
func (c *Command) tracing(ctx context.Context, terminal *console.Console, logger *slog.Logger) (*traces, error) {
	variable := func(name string) string {
		value, _ := terminal.LookupEnv(name)
		return value
	}
	if c.OTLPEndpoint == "" && variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" ||
		variable("OTEL_SDK_DISABLED") == "true" || variable("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if protocol := variable(name); protocol != "" && protocol != "http/protobuf" {
			return nil, console.Usage("%s is %s: only http/protobuf is supported", name, protocol)
		}
	}
	endpoint := c.OTLPEndpoint
	if variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		endpoint = "" // the more specific variable wins; the library reads it
	}
	if endpoint != "" {
		if err := tracing.CheckEndpoint(endpoint); err != nil {
			return nil, console.Usage("--otlp-endpoint: %w", err)
		}
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
