package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/telemetry"
	"github.com/holdpoint/holdpoint/test/rig"
)

// measured is an in-memory service with metrics, without its loops.
type measured struct {
	*testing.T
	store store.Store
	api   *httptest.Server
	admin *admin
}

func measure(t *testing.T) *measured {
	t.Helper()
	m := &measured{T: t, admin: &admin{metrics: telemetry.New("test")}}
	var err error
	m.store, err = store.Open(t.Context(), "sqlite::memory:", store.Options{Observer: m.admin.metrics.Door})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.store.Close()) })
	dispatcher := claims.New(m.store, claims.Options{})
	server := httpapi.New(httpapi.Options{Store: m.store, Hub: watch.NewHub(), Claims: dispatcher, Observer: m.admin.observer()})
	m.admin.watch(m.store, dispatcher, server, func() float64 { return 0.5 }, nil)
	m.api = httptest.NewServer(server.Handler())
	t.Cleanup(m.api.Close)
	return m
}

func (m *measured) do(command runs.Command) runs.Reply {
	m.Helper()
	reply, err := m.store.Do(m.Context(), command)
	require.NoError(m, err)
	return reply
}

// call makes an API call and returns its status.
func (m *measured) call(method, path, body string) int {
	m.Helper()
	request, err := http.NewRequestWithContext(m.Context(), method, m.api.URL+path, strings.NewReader(body))
	require.NoError(m, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(m, err)
	defer response.Body.Close()
	return response.StatusCode
}

// read returns the metrics.
func (m *measured) read() string {
	m.Helper()
	answer := httptest.NewRecorder()
	m.admin.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(m, http.StatusOK, answer.Code, answer.Body)
	return answer.Body.String()
}

func (m *measured) requireLines(text string, lines ...string) {
	m.Helper()
	for _, line := range lines {
		require.Contains(m, "\n"+text, "\n"+line+"\n")
	}
}

func (m *measured) wait(run string) (fence int64) {
	m.Helper()
	m.do(&runs.CreateRun{SessionID: "s-" + run, RunID: run, AgentID: "agent", Input: api.JSON(`{}`)})
	fence = m.do(&runs.ClaimRun{RunID: run, WorkerID: "w"}).Run.Run.Fence
	m.do(&runs.Suspend{RunID: run, Fence: fence, Suspension: api.Suspension{
		SuspensionID: "u", Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "a", ToolName: "bash", Input: api.JSON(`{}`)}},
	}})
	return fence
}

func TestMetricsSayWhatHappened(t *testing.T) {
	t.Parallel()
	m := measure(t)
	before := m.read()
	m.requireLines(before, `holdpoint_waits{age="under_1m",kind="approval"} 0`, `holdpoint_lane_oldest_seconds{lane="0"} 0`, "holdpoint_database_counts_up 1")
	m.wait("open")
	m.wait("decided")
	m.do(&runs.ResolveApprovals{RunID: "decided", Actor: runs.Actor{Name: "ada", Via: "api:a-text-of-the-caller"}, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow}}})
	require.Equal(t, http.StatusNotFound, m.call(http.MethodGet, "/v1/runs/unknown", ""))
	require.Equal(t, http.StatusNotFound, m.call(http.MethodGet, "/nowhere/at-all", ""))
	require.Equal(t, http.StatusConflict, m.call(http.MethodPost, "/v1/runs/decided/approvals", `{"resolutions":[{"request_id":"a","behavior":"deny"}]}`))

	after := m.read()
	m.requireLines(
		after,
		`holdpoint_decisions_total{kind="approval",outcome="allowed",via="api"} 1`,
		`holdpoint_decision_wait_seconds_count{kind="approval",outcome="allowed"} 1`,
		`holdpoint_requests_raised_total{kind="approval"} 2`,
		`holdpoint_events_total{type="waiting_for_approval"} 2`,
		`holdpoint_commands_total{command="Suspend",result="done"} 2`,
		`holdpoint_refusals_total{code="run_not_found"} 1`,
		`holdpoint_http_requests_total{method="GET",route="/v1/runs/{run_id}",status="404"} 1`,
		`holdpoint_http_requests_total{method="GET",route="none",status="404"} 1`,
		`holdpoint_http_requests_in_flight 0`,
		`holdpoint_streams 0`,
		`holdpoint_call_connections 0`,
		`holdpoint_busiest_caller_mcp_ratio 0`, `holdpoint_busiest_caller_connections_ratio 0`, `holdpoint_busiest_caller_callbacks_ratio 0.5`,
		`holdpoint_pool_connections_max{pool="lanes"} 1`,
	)
	require.NotContains(t, after, "a-text-of-the-caller")
	require.NotContains(t, after, "unknown\"")
}

func TestProfilesAreForThisMachineAlone(t *testing.T) {
	t.Parallel()
	handler := (&admin{metrics: telemetry.New("test")}).handler()
	get := func(path, remote, host, origin string) int {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.RemoteAddr, request.Host = remote, host
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	require.Equal(t, http.StatusOK, get("/debug/pprof/cmdline", "127.0.0.1:5", "localhost:9090", ""))
	require.Equal(t, http.StatusOK, get("/debug/pprof/cmdline", "[::1]:5", "[::1]:9090", ""))
	require.Equal(t, http.StatusForbidden, get("/debug/pprof/cmdline", "10.0.0.1:5", "localhost:9090", ""), "another machine")
	require.Equal(t, http.StatusForbidden, get("/debug/pprof/cmdline", "127.0.0.1:5", "rebound.example:9090", ""), "a name that was rebound")
	require.Equal(t, http.StatusForbidden, get("/debug/pprof/cmdline", "127.0.0.1:5", "localhost:9090", "http://evil.example"), "a page")
	require.Equal(t, http.StatusOK, get("/metrics", "10.0.0.1:5", "holdpoint:9090", ""))
}

// promtool returns the path of Prometheus' promtool. If it is missing, the test fails in CI
// and is skipped elsewhere.
func promtool(t *testing.T) string {
	t.Helper()
	return rig.Need(t, "promtool")
}

// net/http cancels a request at the read timeout, and a profile takes as long as its caller says.
func TestProfilesAreNotCutShort(t *testing.T) {
	t.Parallel()
	server := measure(t).admin.server(slog.New(slog.DiscardHandler))
	require.Equal(t, server.WriteTimeout, server.ReadTimeout)
	require.Less(t, server.ReadHeaderTimeout, server.ReadTimeout)
}

func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	t.Parallel()
	tool := promtool(t)
	m := measure(t)
	m.wait("open")
	m.call(http.MethodGet, "/v1/runs/unknown", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check := exec.CommandContext(ctx, tool, "check", "metrics")
	check.Stdin = io.NopCloser(strings.NewReader(m.read()))
	said, err := check.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
}
