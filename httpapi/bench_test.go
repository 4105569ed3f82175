package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// BenchmarkWait measures the four calls of a wait on the handler, without a connection: create,
// claim and suspend a run; allow its approval; claim it again; complete it.
func BenchmarkWait(b *testing.B) {
	store, err := sqlite.Open(b.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, store.Close()) }()
	hub := watch.NewHub()
	defer store.Subscribe(hub.Publish)()
	dispatcher := claims.New(store, claims.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- dispatcher.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(b, <-done)
	}()
	server := httpapi.New(httpapi.Options{Store: store, Hub: hub, Claims: dispatcher, Signing: newSigning(b, store)})
	defer server.Drain()
	post := func(path, body string, into any) {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1"+path, bytes.NewBufferString(body))
		if err != nil {
			b.Fatal(err)
		}
		request.Header["Content-Type"] = []string{"application/json"}
		reply := recorder{header: http.Header{}}
		server.Handler().ServeHTTP(&reply, request)
		if reply.status >= http.StatusBadRequest {
			b.Fatalf("%s: %d %s", path, reply.status, reply.body.Bytes())
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(reply.body.Bytes(), into); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		var run struct {
			RunID string `json:"run_id"`
		}
		post("/v1/runs", `{"agent_id":"bench","input":{"plan":"clean the build folder"},"claim":{"worker_id":"bench"},"suspend":{"checkpoint":{"step":3},`+
			`"approvals":[{"id":"approval-1","tool_call_id":"call-1","tool_name":"bash","input":{"command":"rm -rf build"},"reason":"shell command"}]}}`, &run)
		post("/v1/runs/"+run.RunID+"/approvals", `{"resolutions":[{"request_id":"approval-1","behavior":"allow"}]}`, nil)
		var claimed struct {
			Claims []struct {
				Lease struct {
					Fence string `json:"fence"`
				} `json:"lease"`
			} `json:"claims"`
		}
		post("/v1/runs/claim", `{"worker_id":"bench","agent_ids":["bench"],"max_runs":1,"wait_ms":1000}`, &claimed)
		post("/v1/runs/"+run.RunID+"/complete", `{"fence":"`+claimed.Claims[0].Lease.Fence+`","output":{"ok":true}}`, nil)
	}
}

// recorder keeps a reply.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

// SetWriteDeadline accepts deadlines like a connection.
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(body []byte) (int, error) { return r.body.Write(body) }
