package agents_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

func TestMain(m *testing.M) {
	read.Timeout = time.Minute
	goleak.VerifyTestMain(m)
}

// connect starts the real service on an in-memory store and returns a client.
func connect(t *testing.T) *client.Client {
	t.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	hub := watch.NewHub()
	dispatcher := claims.New(store, claims.Options{})
	effects := loop.NewEffects(store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- dispatcher.Run(ctx) }()
	go func() { done <- effects.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)
	api := httpapi.New(httpapi.Options{Store: store, Hub: hub, Claims: dispatcher, Version: "v0-test"})
	server := httptest.NewServer(api.Handler())
	c, err := client.New(server.URL, client.WithActor("ann"))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		api.Drain()
		server.Close()
		unsubscribe()
		stop()
		require.NoError(t, errors.Join(<-done, <-done, store.Close()))
	})
	return c
}

// work runs an agent until the end of the test, or until stopped.
func work(t *testing.T, c *client.Client, agentID string, handle client.Handler) (stop func()) {
	t.Helper()
	worker, err := client.NewWorker(c, client.WorkerOptions{
		AgentIDs: []string{agentID}, RetryDelay: time.Millisecond, OnError: func(err error) { t.Log(err) },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	ended := false
	go func() { done <- worker.Run(ctx, handle) }()
	stop = func() {
		cancel()
		if !ended {
			ended = true
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

// begin creates a run for an agent.
func begin(t *testing.T, c *client.Client, agentID string, input any) (runID string) {
	t.Helper()
	run, err := c.CreateRun(t.Context(), client.CreateRunParams{AgentID: agentID, Input: input})
	require.NoError(t, err)
	return run.RunID
}

// rests returns the run once it waits for a person or has ended.
func rests(t *testing.T, c *client.Client, runID string) *api.RunView {
	t.Helper()
	var view *api.RunView
	require.Eventually(t, func() bool {
		var err error
		view, err = c.GetRun(t.Context(), runID)
		return err == nil && (model.Waiting(view.Status) || model.Terminal(view.Status))
	}, time.Minute, 5*time.Millisecond)
	return view
}

// decide settles the only open approval of a run.
func decide(t *testing.T, c *client.Client, runID string, resolution api.ApprovalResolution) {
	t.Helper()
	view := rests(t, c, runID)
	require.Len(t, view.PendingApprovals, 1, "%s %s", view.Status, view.Error)
	resolution.RequestID = view.PendingApprovals[0].ID
	_, err := c.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{resolution}})
	require.NoError(t, err)
}

// output returns the output of a completed run.
func output[T any](t *testing.T, c *client.Client, runID string) T {
	t.Helper()
	view := rests(t, c, runID)
	require.Equal(t, api.StatusCompleted, view.Status, "%s", view.Error)
	var read T
	require.NoError(t, json.Unmarshal(view.Output, &read))
	return read
}
