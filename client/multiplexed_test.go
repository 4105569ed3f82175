package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// passing is a proxy before the real service, with a base path, that counts calls.
type passing struct {
	*httptest.Server
	plain, connections atomic.Int64
}

// proxied starts the real service behind a proxy, with or without WebSockets.
func proxied(t *testing.T, webSockets bool) *passing {
	t.Helper()
	service, stop, err := serve()
	require.NoError(t, err)
	target := must(url.Parse(service))(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	p := &passing{}
	p.Server = httptest.NewServer(http.StripPrefix("/below", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v1/calls":
			p.plain.Add(1)
		case !webSockets:
			w.WriteHeader(http.StatusBadGateway)
			return
		default:
			p.connections.Add(1)
		}
		proxy.ServeHTTP(w, r)
	})))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		transport.CloseIdleConnections()
		require.NoError(t, stop())
	})
	return p
}

// carry lets many agents concurrently create two runs each that wait, and a worker complete
// them.
func (p *passing) carry(t *testing.T, many int, options ...client.Option) {
	t.Helper()
	c := must(client.New(p.URL+"/below", append(options, client.WithActor("ann"))...))(t)
	worker := must(client.NewWorker(c, client.WorkerOptions{Concurrency: many, OnError: func(err error) { t.Error(err) }}))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var handled sync.Map
	go func() {
		done <- worker.Run(ctx, func(ctx context.Context, task *client.Task) error {
			_, twice := handled.LoadOrStore(task.RunID(), true)
			if twice {
				return fmt.Errorf("%s was handed out twice", task.RunID())
			}
			return task.Complete(ctx, "done")
		})
	}()
	var agents sync.WaitGroup
	for i := range many {
		agents.Go(func() {
			for n := range 2 {
				runID := fmt.Sprintf("run-%d-%d", i, n)
				_, err := c.CreateRun(ctx, client.CreateRunParams{RunID: runID, Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &api.Suspension{
					Approvals: []api.ApprovalRequest{approval("a", "ls")},
				}})
				if err == nil {
					_, err = c.ResolveRunApprovals(ctx, runID, allowing("a"))
				}
				var ended *api.RunView
				if err == nil {
					ended, err = c.WaitRun(ctx, runID, client.UntilTerminal)
				}
				if err != nil || ended.Status != api.StatusCompleted {
					t.Errorf("%s: %v %v", runID, ended, err)
				}
			}
		})
	}
	agents.Wait()
	stop()
	require.NoError(t, <-done)
	c.Close()
}

func TestManyCallsAtOnceShareAConnection(t *testing.T) {
	t.Parallel()
	p := proxied(t, true)
	p.carry(t, 40)
	require.Equal(t, int64(1), p.connections.Load())
	require.Less(t, p.plain.Load(), int64(200), "of more than 240 calls")
}

func TestWhereNoWebSocketPassesCallsGoByThemselves(t *testing.T) {
	t.Parallel()
	p := proxied(t, false)
	p.carry(t, 20)
	require.Greater(t, p.plain.Load(), int64(120))
}

func TestMultiplexingIsAChoice(t *testing.T) {
	t.Parallel()
	p := proxied(t, true)
	p.carry(t, 20, client.WithoutMultiplexing())
	p.fewCalls(t)
	require.Zero(t, p.connections.Load())
}

// fewCalls does the same with few concurrent calls.
func (p *passing) fewCalls(t *testing.T) {
	t.Helper()
	c := must(client.New(p.URL + "/below"))(t)
	for n := range 100 {
		_, err := c.GetRun(t.Context(), fmt.Sprint("run-0-", n%2))
		require.NoError(t, err)
	}
	c.Close()
}
