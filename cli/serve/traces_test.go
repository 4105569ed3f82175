package serve

import (
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/store"
)

func TestTracesGoWhereTheyAreSentAndNowhereElse(t *testing.T) {
	t.Parallel()
	start := func(endpoint string, environment map[string]string) (*traces, error) {
		terminal := &console.Console{Stdout: io.Discard, Stderr: io.Discard, Env: func(name string) (string, bool) {
			value, there := environment[name]
			return value, there
		}}
		return (&Command{OTLPEndpoint: endpoint}).tracing(t.Context(), terminal, slog.New(slog.DiscardHandler))
	}
	const collector = "http://127.0.0.1:9"
	for name, off := range map[string]struct {
		endpoint    string
		environment map[string]string
	}{
		"by default": {"", nil},
		"disabled":   {collector, map[string]string{"OTEL_SDK_DISABLED": "true"}},
		"not read":   {"nowhere", map[string]string{"OTEL_SDK_DISABLED": "true"}},
		"none":       {collector, map[string]string{"OTEL_TRACES_EXPORTER": "none"}},
	} {
		none, err := start(off.endpoint, off.environment)
		require.NoError(t, err, name)
		require.Nil(t, none, name)
		var options store.Options
		none.watch(&options)
		require.True(t, options.Tracer == nil && options.StatementTracer == nil && none.calls() == nil && none.counts() == nil, name)
		none.close()
	}
	on, err := start(collector, map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"})
	require.NoError(t, err)
	require.NotNil(t, on.calls())
	on.close()
	_, err = start(collector, map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
	require.ErrorContains(t, err, "http/protobuf")
	_, err = start("user:hunter2@collector", nil)
	require.ErrorContains(t, err, "--otlp-endpoint")
	require.NotContains(t, err.Error(), "hunter2")
}
