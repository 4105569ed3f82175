package traces

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry/tracing"
	"github.com/holdpoint/holdpoint/telemetry/tracing/tracingtest"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// BenchmarkSuspend raises an approval by HTTP on an SQLite database in memory: without traces, with a
// caller in a trace, and with every call traced and sent to a collector in this process.
func BenchmarkSuspend(b *testing.B) {
	for _, name := range []string{"off", "caller in a trace", "on"} {
		b.Run(name, func(b *testing.B) {
			var options inprocess.Options
			if name == "on" {
				tracer, err := tracing.New(b.Context(), tracing.Options{Endpoint: tracingtest.Start(b).URL})
				require.NoError(b, err)
				b.Cleanup(tracer.Close)
				options.Tracer, options.Store = tracer, store.Options{Tracer: tracer}
			}
			c, ctx := connect(inprocess.Start(b, inprocess.Memory, options)), b.Context()
			if name != "off" {
				ctx = in(ctx, asked)
			}
			b.ReportAllocs()
			for n := range b.N {
				_, err := c.CreateRun(ctx, client.CreateRunParams{
					RunID: "r" + strconv.Itoa(n), Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}},
				})
				require.NoError(b, err)
			}
		})
	}
}
