package client_test

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// rig is a worker and a fake service in a synctest bubble.
type rig struct {
	*testing.T
	service *fake
	client  *client.Client
	stop    context.CancelFunc
	done    chan error

	mu     sync.Mutex
	errors []error
}

func newRig(t *testing.T) *rig {
	b := &rig{T: t, service: newFake(), done: make(chan error, 1)}
	b.client = connect(t, b.service, client.WithRetry(client.RetryPolicy{MaxAttempts: 2}))
	return b
}

// must returns the result of a call that must succeed.
func must[T any](result T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return result
	}
}

func (b *rig) onError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, err)
}

func (b *rig) reported() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errors
}

// start runs a worker until the test ends it.
func (b *rig) start(options client.WorkerOptions, handler client.Handler) {
	b.Helper()
	options.OnError = b.onError
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	worker := must(client.NewWorker(b.client, options))(b)
	ctx, stop := context.WithCancel(b.Context())
	b.stop = stop
	go func() { b.done <- worker.Run(ctx, handler) }()
}

// end stops the worker and waits for it.
func (b *rig) end() {
	b.Helper()
	b.stop()
	require.NoError(b, <-b.done)
}

func (b *rig) submit(runID string) {
	b.Helper()
	must(b.client.CreateRun(b.Context(), client.CreateRunParams{RunID: runID, Input: map[string]string{"name": runID}}))(b)
}

func (b *rig) terminal(runID string) *api.RunView {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	run, err := b.client.WaitRun(ctx, runID, client.UntilTerminal)
	require.NoError(b, err, "reported: %v", b.reported())
	return run
}

func (b *rig) allow(runID string, requestIDs ...string) {
	b.Helper()
	must(b.client.ResolveRunApprovals(b.Context(), runID, allowing(requestIDs...)))(b)
}

// handle creates a run and starts a worker with the defaults.
func (b *rig) handle(runID string, handler client.Handler) {
	b.Helper()
	b.submit(runID)
	b.start(client.WorkerOptions{}, handler)
}

// handleInput is handle with an input of the run.
func (b *rig) handleInput(runID string, input api.JSON, handler client.Handler) {
	b.Helper()
	must(b.client.CreateRun(b.Context(), client.CreateRunParams{RunID: runID, Input: input}))(b)
	b.start(client.WorkerOptions{}, handler)
}

// completes waits until a run is completed, and ends the worker.
func (b *rig) completes(runID string) {
	b.Helper()
	require.Equal(b, api.StatusCompleted, b.terminal(runID).Status)
	b.end()
}

// allowing allows requests.
func allowing(requestIDs ...string) client.ResolveApprovalsParams {
	var params client.ResolveApprovalsParams
	for _, id := range requestIDs {
		params.Resolutions = append(params.Resolutions, api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorAllow})
	}
	return params
}

func approval(id, command string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: "call", ToolName: "bash", Input: api.JSON(`{"command":"` + command + `"}`)}
}

// inBubble runs a test in its own bubble.
func inBubble(t *testing.T, test func(b *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newRig(t)) })
}

// roundTrip is a function used as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inProcess calls a handler in the caller's goroutine, so that a synctest bubble sees all
// waits.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	recorder := httptest.NewRecorder()
	p.handler.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// connect returns a client of a handler.
func connect(t *testing.T, handler http.Handler, options ...client.Option) *client.Client {
	t.Helper()
	options = append([]client.Option{client.WithHTTPClient(&http.Client{Transport: inProcess{handler}})}, options...)
	c, err := client.New("http://holdpoint.test", options...)
	require.NoError(t, err)
	return c
}
